import type { Identifier } from '../interface/identifiers.ts'
import type { Permission } from '../interface/permissions.ts'
import type { Answer } from './decision-logic.ts'
import { isInNamespace, type DecisionChange, type PolicyDiff } from './diff.ts'
import { grouped } from './grouped.ts'
import { keyOf, referenceTo, type Position } from './rule-reach.ts'

/** Changes of several operations for the same callers by the same rules. */
export interface ChangeSummary {
  readonly example: DecisionChange
  readonly permissions: ReadonlySet<Permission>
  /** Whether it holds for everything beneath the namespace, and not for what no policy names there alone. */
  readonly isWhole: boolean
}

/**
 * The changes for people to read: what differs in the operation alone is one, and what holds everywhere beneath a
 * namespace is told once.
 */
export function summarizeDiff({ changes, positions }: PolicyDiff): readonly ChangeSummary[] {
  const alike = [...grouped(changes, contentOf).values()]
  const told = alike.flatMap((list) => withoutRepeated(list, positions))
  return [...grouped(told, placeOf).values()].flatMap((list) => {
    const [first] = list
    const permissions = new Set(list.map(({ change }) => change.permission))
    return first === undefined ? [] : [{ example: first.change, permissions, isWhole: first.isWhole }]
  })
}

interface Told {
  readonly change: DecisionChange
  readonly isWhole: boolean
}

/** Of changes that differ in their position alone, those that are not beneath one that holds everywhere beneath. */
function withoutRepeated(
  changes: readonly DecisionChange[],
  positions: readonly Position[],
): readonly Told[] {
  const changed = new Set(changes.map(({ position }) => placeKey(position)))
  const asksTables = changes.some(({ permission }) => isInNamespace(permission))
  // Where something beneath does not change in this way, the change does not hold everywhere.
  const broken = new Set(
    positions
      .filter((position) => !changed.has(placeKey(position)) && (asksTables || position.table === undefined))
      .flatMap(({ namespace }) => prefixesOf(namespace)),
  )
  const isWhole = (namespace: string): boolean =>
    changed.has(JSON.stringify([namespace, null])) && !broken.has(namespace)
  return changes
    .filter(({ position: { namespace, table } }) => {
      const around = prefixesOf(namespace)
      return !(table === undefined ? around.slice(0, -1) : around).some(isWhole)
    })
    .map((change) => {
      const { namespace, table } = change.position
      return { change, isWhole: table === undefined && isWhole(keyOf(namespace)) }
    })
}

function placeKey({ namespace, table }: Position): string {
  return JSON.stringify([keyOf(namespace), table ?? null])
}

/** The keys of the namespaces from the root to that one. */
function prefixesOf(namespace: Identifier): readonly string[] {
  return [...namespace, ''].map((_, depth) => keyOf(namespace.slice(0, depth)))
}

function contentOf({ permission, direction, known, before, after }: DecisionChange): string {
  const { isAnonymous, user, key, groups, others } = known.caller
  const caller = [isAnonymous, user, key, [...groups], others === 'all' ? others : [...others]]
  return JSON.stringify([permission, direction, caller, [...known.conditions], ruleOf(before), ruleOf(after)])
}

function placeOf({ change, isWhole }: Told): string {
  const { permission: _, ...rest } = change
  return JSON.stringify([contentOf({ ...rest, permission: 'ListTables' }), change.position, isWhole])
}

function ruleOf({ by }: Answer): unknown {
  return by && referenceTo(by)
}
