import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { RuleDecision } from './find-difference.ts'
import { createRuleReference } from '../engine/compiled-rule.ts'
import { isNamespaceMember, namespaceKey, type ObjectPosition } from '../engine/object-position.ts'
import type { DecisionChange, PolicyDiff } from './diff-policies.ts'
import { groupBy } from '../../lib/group-by.ts'

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
  const alike = [...groupBy(changes, changeKey).values()]
  const reported = alike.flatMap((list) => removeCovered(list, positions))
  return [...groupBy(reported, locatedChangeKey).values()].flatMap((list) => {
    const [first] = list
    const permissions = new Set(list.map(({ change }) => change.permission))
    return first === undefined
      ? []
      : [{ example: first.change, permissions, coversSubtree: first.coversSubtree }]
  })
}

interface LocatedChange {
  readonly change: DecisionChange
  readonly coversSubtree: boolean
}

/** Of changes that differ only in their position, drops those beneath a change that covers its subtree. */
function removeCovered(
  changes: readonly DecisionChange[],
  positions: readonly ObjectPosition[],
): readonly LocatedChange[] {
  const changed = new Set(changes.map(({ position }) => positionKey(position)))
  const affectsTables = changes.some(({ permission }) => isNamespaceMember(permission))
  // A change does not cover a subtree if a position in it does not change.
  const broken = new Set(
    positions
      .filter(
        (position) => !changed.has(positionKey(position)) && (affectsTables || position.table === undefined),
      )
      .flatMap(({ namespace }) => ancestorKeys(namespace)),
  )
  const coversSubtree = (namespace: string): boolean =>
    changed.has(JSON.stringify([namespace, null])) && !broken.has(namespace)
  return changes
    .filter(({ position: { namespace, table } }) => {
      const around = ancestorKeys(namespace)
      return !(table === undefined ? around.slice(0, -1) : around).some(coversSubtree)
    })
    .map((change) => {
      const { namespace, table } = change.position
      return { change, coversSubtree: table === undefined && coversSubtree(namespaceKey(namespace)) }
    })
}

function positionKey({ namespace, table }: ObjectPosition): string {
  return JSON.stringify([namespaceKey(namespace), table ?? null])
}

function ancestorKeys(namespace: Identifier): readonly string[] {
  return [...namespace, ''].map((_, depth) => namespaceKey(namespace.slice(0, depth)))
}

function changeKey(change: DecisionChange): string {
  return JSON.stringify([change.permission, causeKey(change)])
}

/** Equal for changes that differ only in the operation and the position. */
function causeKey({ direction, known, before, after }: DecisionChange): string {
  const { isAnonymous, user, key, groups, excludedGroups } = known.caller
  const caller = [
    isAnonymous,
    user,
    key,
    [...groups],
    excludedGroups === 'all' ? excludedGroups : [...excludedGroups],
  ]
  return JSON.stringify([
    direction,
    caller,
    [...known.conditions],
    decidingRuleReference(before),
    decidingRuleReference(after),
  ])
}

function locatedChangeKey({ change, coversSubtree }: LocatedChange): string {
  return JSON.stringify([causeKey(change), change.position, coversSubtree])
}

function decidingRuleReference({ decidingRule }: RuleDecision): unknown {
  return decidingRule && createRuleReference(decidingRule)
}
