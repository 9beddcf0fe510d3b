import type { PolicyDocument } from '../../language/policy-document.ts'
import { createFinding, type Finding } from './finding.ts'

const dayMs = 24 * 60 * 60 * 1000
const maxDays = 366

/** Finds allow rules that have ended by `now`, and ends that are so far away that nobody will think of them. */
export function lintGrants(documents: readonly PolicyDocument[], now = Date.now()): readonly Finding[] {
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) => {
      const { until } = rule
      const problem = until === undefined ? undefined : describeEnd(until, now)
      return problem === undefined ? [] : [createFinding(document, rule, 'warning', 'until', problem)]
    }),
  )
}

function describeEnd(until: string, now: number): string | undefined {
  const end = Date.parse(until)
  if (end <= now) return `ended at ${until} and allows nothing any more; remove it, or choose another end`
  if (end - now <= maxDays * dayMs) return undefined
  return `ends at ${until}, in more than ${maxDays} days; choose an earlier end, or remove "until" if the grant is permanent`
}
