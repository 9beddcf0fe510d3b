import { isConditionError, type Condition } from '../conditions/condition.ts'
import { compileCached } from './read-condition.ts'
import type { Grant } from './grant.ts'
import { readLine, readOptional, type Fields, type ReportProblem } from './field.ts'
import { readTime } from './read-time.ts'

/** Reads the end and the approval of a rule; undefined if it has neither. Reports all errors. */
export function readGrant(
  fields: Fields<'effect' | 'until' | 'approvedBy'>,
  effect: 'allow' | 'deny' | undefined,
  report: ReportProblem,
): Grant | undefined {
  if (!fields.has('until') && !fields.has('approvedBy')) return undefined
  if (effect === 'deny') {
    reportMisplaced(fields, 'until', '; a deny may have "when: now < timestamp(…)"', report)
    reportMisplaced(fields, 'approvedBy', '', report)
    return undefined
  }
  const until = readOptional(fields, 'until', readTime, report)
  const approvedBy = readOptional(fields, 'approvedBy', readLine, report)
  return {
    ...(until !== undefined && { until: new Date(until).toISOString().replace('.000Z', 'Z') }),
    ...(approvedBy !== undefined && { approvedBy }),
  }
}

function reportMisplaced<Name extends string>(
  fields: Fields<Name>,
  name: NoInfer<Name>,
  hint: string,
  report: ReportProblem,
): void {
  if (!fields.has(name)) return
  const field = fields.get(name)
  report(field.offset, `${field.name} is allowed only with effect: allow${hint}`)
}

/**
 * Adds the end of a grant to the condition of its rule, as one more conjunct. So all that depends on the time treats it
 * as it treats `now` in conditions: nothing is cached past it, and changes are decided again at the end of their body.
 */
export function limitCondition(
  condition: Condition | undefined,
  until: string | undefined,
  report: (message: string) => void,
): Condition | undefined {
  if (until === undefined) return condition
  const end = `now < timestamp("${until}")`
  // A line break, because the condition may end with a comment.
  const limited = compileCached(condition === undefined ? end : `${end} && (${condition.text}\n)`)
  if (!isConditionError(limited)) return limited
  report(`with "when", the condition ${limited.message}`)
  return undefined
}
