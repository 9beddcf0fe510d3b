import { formatIdentifierText } from '../../catalog-api/index.ts'
import { groupBy } from '../../lib/index.ts'
import type { ObjectPosition } from '../engine/object-position.ts'
import { anonymousSubject } from '../engine/subject.ts'
import { mergeByPolicy } from '../language/for-each.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { describePermissionSet } from '../language/policy-vocabulary.ts'
import type { DecisionReport, PolicyChange, ReportedCaller } from './diff-policies.ts'
import { formatDecision, formatColumns, formatConditionResult, formatPolicySubject } from './format-policy.ts'

/** The lines of each change beneath its caller, with changes of several documents of a policy with `forEach` in one. */
export function formatDiff(
  found: readonly PolicyChange[],
  documents: readonly PolicyDocument[],
): readonly string[] {
  const instances = new Set(documents.filter(({ instance }) => instance).map(({ name }) => name))
  const changes = summarizeDiff(found).map((summary) => {
    // The policy with `forEach` that decides now or, if that has none, the one that decided.
    const deciding = [summary.after, summary.before].map(({ rule }) => rule?.policy ?? '')
    return { message: formatChange(summary), policy: deciding.find((name) => instances.has(name)) ?? '' }
  })
  return formatGroups(mergeByPolicy(changes, documents, () => '').map(({ message }) => message.split('\n')))
}

/** Groups parts with the same first line, and prints that once. */
export function formatGroups(parts: readonly (readonly string[])[]): readonly string[] {
  const groups = groupBy(parts, ([title = '']) => title)
  return [...groups].flatMap(([title, all]) => [title, ...all.flatMap((lines) => lines.slice(1))])
}

/** In several lines; the first names the caller. */
function formatChange(change: ChangeSummary): string {
  const { caller, direction, positions, operations, conditions, before, after } = change
  return [
    formatCaller(caller),
    `  ${direction}  ${formatPositions(positions)}: ${describePermissionSet(operations)}`,
    ...Object.entries(conditions).map(([text, result]) => `    if ${formatConditionResult(text, result)}`),
    ...formatOwnColumns('gains', after, before),
    ...formatOwnColumns('loses', before, after),
    `    before: ${formatDecision(before)}`,
    `    after:  ${formatDecision(after)}`,
  ].join('\n')
}

const maxPositions = 10

function formatPositions(positions: readonly ObjectPosition[]): string {
  const texts = positions.map(({ namespace, table }) => {
    const text = formatIdentifierText(namespace)
    return table === undefined
      ? `${text} and what no policy names beneath`
      : `tables in ${text} such as ${table}`
  })
  const hidden = texts.length - maxPositions
  return [...texts.slice(0, maxPositions), ...(hidden > 0 ? [`${hidden} more`] : [])].join('; ')
}

/** The columns that only one of two restricted decisions leaves. */
function formatOwnColumns(direction: string, one: DecisionReport, other: DecisionReport): readonly string[] {
  if (one.restriction === undefined || other.restriction === undefined) return []
  const { columns } = other.restriction
  const own = Object.entries(one.restriction.columns).filter(([path, type]) => columns[path] !== type)
  return own.length === 0 ? [] : [`    ${direction}  columns ${formatColumns(Object.fromEntries(own))}`]
}

function formatCaller({ anonymous, user, key, groups, notInGroups }: ReportedCaller): string {
  if (anonymous) return formatPolicySubject(anonymousSubject)
  const others = notInGroups === 'all others' ? undefined : notInGroups
  const known = [
    ...(user === undefined ? [] : [`user ${user}`]),
    ...(key === undefined ? [] : [`key ${key}`]),
    ...groups.map((group) => `${others ? 'in ' : ''}group ${group}`),
    ...(others ?? []).map((group) => `not in group ${group}`),
  ].join(' and ')
  return others ? `callers that are ${known || 'not named'}` : known || 'callers that no policy names'
}

/** A change of several operations, at several positions, for the same callers by the same rules. */
type ChangeSummary = ReturnType<typeof summarizeDiff>[number]

/** Summarizes changes for people: those that differ only in the operation or the position are one. */
function summarizeDiff(changes: readonly PolicyChange[]) {
  const byCase = groupBy(changes, (change) => JSON.stringify({ ...change, operation: undefined }))
  const merged = groupBy(byCase.values(), (alike) =>
    JSON.stringify(alike.map((change) => ({ ...change, namespace: undefined, table: undefined }))),
  )
  return [...merged.values()].flatMap((cases) => {
    const positions = cases.flatMap((alike) => alike.slice(0, 1))
    const operations = new Set(cases[0]?.map(({ operation }) => operation))
    return positions.slice(0, 1).map((change) => ({ ...change, operations, positions }))
  })
}
