import type { Permission } from '../../catalog-api/permissions.ts'
import { isWithin } from '../../catalog-api/identifiers.ts'
import { groupBy } from '../../lib/group-by.ts'
import { isNamespaceMember, type ObjectPosition } from '../engine/object-position.ts'
import type { PolicyChange, PolicyDiff } from './diff-policies.ts'

/** A change of several operations for the same callers by the same rules. */
export interface ChangeSummary extends Omit<PolicyChange, 'operation'> {
  readonly operations: ReadonlySet<Permission>
  /** Whether it covers everything beneath the namespace; otherwise it covers only the position itself. */
  readonly coversSubtree: boolean
}

/**
 * Summarizes a diff for people: changes that differ only in the operation are merged, and a change of a whole subtree
 * is listed once.
 */
export function summarizeDiff({ changes, positions }: PolicyDiff): readonly ChangeSummary[] {
  const alike = groupBy(changes, (change) =>
    JSON.stringify({ ...change, namespace: undefined, table: undefined }),
  )
  const located = [...alike.values()].flatMap((list) => removeCovered(list, positions))
  const merged = groupBy(located, (change) => JSON.stringify({ ...change, operation: undefined }))
  return [...merged.values()].flatMap((list) =>
    list
      .slice(0, 1)
      .map((first) => ({ ...first, operations: new Set(list.map(({ operation }) => operation)) })),
  )
}

/** Of changes that differ only in their position, drops those beneath a change that covers its subtree. */
function removeCovered(
  changes: readonly PolicyChange[],
  positions: readonly ObjectPosition[],
): readonly (PolicyChange & Pick<ChangeSummary, 'coversSubtree'>)[] {
  const changed = new Set(changes.map(positionKey))
  const affectsTables = changes.some(({ operation }) => isNamespaceMember(operation))
  const unchanged = positions.filter(
    (position) => !changed.has(positionKey(position)) && (affectsTables || position.table === undefined),
  )
  // A change does not cover a subtree if a position in it does not change.
  const covering = changes
    .filter(({ table }) => table === undefined)
    .map(({ namespace }) => namespace)
    .filter((top) => !unchanged.some(({ namespace }) => isWithin(namespace, top)))
  return changes.flatMap((change) => {
    const { namespace, table } = change
    const isCovered = covering.some(
      (top) => isWithin(namespace, top) && (table !== undefined || top.length < namespace.length),
    )
    const coversSubtree = table === undefined && covering.includes(namespace)
    return isCovered ? [] : [{ ...change, coversSubtree }]
  })
}

function positionKey({ namespace, table }: ObjectPosition): string {
  return JSON.stringify([namespace, table])
}
