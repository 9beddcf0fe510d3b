import type { Permission } from '../../catalog-api/permissions.ts'
import { isWithin } from '../../catalog-api/identifiers.ts'
import { groupBy } from '../../lib/group-by.ts'
import { createRuleReference } from '../engine/compiled-rule.ts'
import { isNamespaceMember, namespaceKey, type ObjectPosition } from '../engine/object-position.ts'
import type { DecisionChange, PolicyDiff } from './diff-policies.ts'

/** Changes of several operations for the same callers by the same rules. */
export interface ChangeSummary {
  readonly example: DecisionChange
  readonly permissions: ReadonlySet<Permission>
  /** Whether it covers everything beneath the namespace; otherwise it covers only the position itself. */
  readonly coversSubtree: boolean
}

/**
 * Summarizes a diff for people: changes that differ only in the operation are merged, and a change of a whole subtree
 * is listed once.
 */
export function summarizeDiff({ changes, positions }: PolicyDiff): readonly ChangeSummary[] {
  const alike = groupBy(changes, (change) => JSON.stringify([change.permission, describeCause(change)]))
  const located = [...alike.values()].flatMap((list) => removeCovered(list, positions))
  const merged = groupBy(located, ({ example, coversSubtree }) =>
    JSON.stringify([describeCause(example), example.position, coversSubtree]),
  )
  return [...merged.values()].flatMap((list) =>
    list
      .slice(0, 1)
      .map((first) => ({ ...first, permissions: new Set(list.map(({ example }) => example.permission)) })),
  )
}

/** Of changes that differ only in their position, drops those beneath a change that covers its subtree. */
function removeCovered(
  changes: readonly DecisionChange[],
  positions: readonly ObjectPosition[],
): readonly Omit<ChangeSummary, 'permissions'>[] {
  const changed = new Set(changes.map(({ position }) => positionKey(position)))
  const affectsTables = changes.some(({ permission }) => isNamespaceMember(permission))
  const unchanged = positions.filter(
    (position) => !changed.has(positionKey(position)) && (affectsTables || position.table === undefined),
  )
  // A change does not cover a subtree if a position in it does not change.
  const covering = changes
    .filter(({ position }) => position.table === undefined)
    .map(({ position }) => position.namespace)
    .filter((top) => !unchanged.some(({ namespace }) => isWithin(namespace, top)))
  return changes
    .filter(
      ({ position: { namespace, table } }) =>
        !covering.some(
          (top) => isWithin(namespace, top) && (table !== undefined || top.length < namespace.length),
        ),
    )
    .map((example) => ({
      example,
      coversSubtree: example.position.table === undefined && covering.includes(example.position.namespace),
    }))
}

function positionKey({ namespace, table }: ObjectPosition): string {
  return JSON.stringify([namespaceKey(namespace), table ?? null])
}

/** Equal for changes that differ only in the operation and the position. */
function describeCause({ direction, known, before, after }: DecisionChange): string {
  const rules = [before, after].map(({ decidingRule }) => decidingRule && createRuleReference(decidingRule))
  return JSON.stringify([direction, known, rules], (_key, value: unknown) =>
    value instanceof Set || value instanceof Map ? [...value] : value,
  )
}
