import type { Identifier } from '../interface/identifiers.ts'
import { permissionNames, type Permission } from '../interface/permissions.ts'
import { findDifference, type Difference, type Known } from './decision-logic.ts'
import { nameClasses } from './name-classes.ts'
import { matcherOf } from './name-pattern.ts'
import { kindOf } from './object-kind.ts'
import type { PolicyDocument } from './policy-document.ts'
import {
  documentsAbove,
  indexDocuments,
  keyOf,
  rulesReaching,
  type DocumentIndex,
  type Position,
  type ReachingRule,
} from './rule-reach.ts'
import { anybody, subjectsIn, unauthenticated, type Subject } from './subject-logic.ts'

/** A decision that two sets of policies make differently. */
export interface DecisionChange extends Difference {
  readonly position: Position
  readonly permission: Permission
  readonly direction: 'gains' | 'loses'
}

/** Which decisions change. */
export interface PolicyDiff {
  readonly changes: readonly DecisionChange[]
  /** The positions that stand for all objects; those with a table only of namespaces where something changes. */
  readonly positions: readonly Position[]
}

/**
 * Which decisions change from one set of policies to another. Exact: what is not in it does not change, whoever
 * asks for whatever, and whatever conditions come to, as long as conditions of the same text come to the same.
 *
 * Why a finite list can say that. A decision depends on the policies of the namespaces from the root to the object.
 * A namespace that neither set has policies for is decided like the nearest one above that has some; so the
 * namespaces of the policies, and the root, stand for all. Within one, only the patterns of `tables` tell names
 * apart; so one name for every set of patterns that some name matches stands for all (`nameClasses`). Every
 * permission is looked at. Of callers, rules know names, groups and keys; so first those whom a rule names in one
 * way, a stranger, and a caller without a credential are compared, and where none of these differs, all combinations
 * (`findDifference`).
 */
export function diffPolicies(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
): PolicyDiff {
  const [one, other] = [indexDocuments(before), indexDocuments(after)]
  const say = sayings()
  const namespaces = new Map<string, Identifier>([
    ['', []],
    ...[...before, ...after].map(({ namespace }) => [keyOf(namespace), namespace] as const),
  ])
  const positions: Position[] = []
  const changes = [...namespaces.values()].flatMap((namespace) => {
    const [above, aboveThen] = [documentsAbove(one, namespace), documentsAbove(other, namespace)]
    if (say(above) === say(aboveThen)) {
      positions.push({ namespace, table: undefined })
      return []
    }
    const here = [...(one.get(keyOf(namespace)) ?? []), ...(other.get(keyOf(namespace)) ?? [])]
    const inside = positionsIn(namespace, here)
    positions.push(...inside)
    return inside.flatMap((position) =>
      permissionNames
        .filter((permission) => position.table === undefined || isInNamespace(permission))
        .flatMap((permission) => changesAt(one, other, position, permission)),
    )
  })
  return { changes, positions }
}

/** What the documents say to decisions, in one text; remembered, as many namespaces lie below the same. */
function sayings(): (documents: readonly PolicyDocument[]) => string {
  const texts = new Map<PolicyDocument, string>()
  return (documents) =>
    documents
      .map((document) => {
        const { namespace, inherit, final, rules } = document
        const known = texts.get(document)
        if (known !== undefined) return known
        const said = rules.map(({ effect, subjects, permissions, tables, condition }) => [
          effect,
          subjects,
          [...permissions],
          tables,
          condition?.text,
        ])
        const text = JSON.stringify([namespace, inherit, [...final], said])
        texts.set(document, text)
        return text
      })
      .join('\n')
}

/** The positions that stand for all objects of a namespace; the one without a table also for what no policy names. */
function positionsIn(namespace: Identifier, documents: readonly PolicyDocument[]): readonly Position[] {
  const patterns = documents.flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const matchers = patterns.map(matcherOf)
  // A name that matches nothing is decided like a namespace beneath that no policy names.
  const names =
    patterns.length === 0
      ? []
      : nameClasses(patterns).filter((name) => matchers.some((matches) => matches(name)))
  return [{ namespace, table: undefined }, ...names.map((table) => ({ namespace, table }))]
}

/** Whether the permission is one on something in a namespace. */
export function isInNamespace(permission: Permission): boolean {
  const kind = kindOf(permission)
  return kind !== 'namespace' && kind !== 'none'
}

function changesAt(
  one: DocumentIndex,
  other: DocumentIndex,
  position: Position,
  permission: Permission,
): readonly DecisionChange[] {
  const before = decidingRules(one, position, permission)
  const after = decidingRules(other, position, permission)
  if (contentOf(before) === contentOf(after)) return []
  const find = (start: Known): readonly DecisionChange[] =>
    (['gains', 'loses'] as const).flatMap((direction) => {
      const found = findDifference(before, after, start, direction)
      return found === undefined ? [] : [{ position, permission, direction, ...found }]
    })
  const changes = subjectsOf([...before, ...after]).flatMap((subject) => find(onlyKnownAs(subject)))
  return changes.length > 0 ? changes : find(nothingKnown)
}

function decidingRules(
  index: DocumentIndex,
  position: Position,
  permission: Permission,
): readonly ReachingRule[] {
  return rulesReaching(index, position, permission).filter(({ obstacle }) => obstacle === undefined)
}

function contentOf(rules: readonly ReachingRule[]): string {
  return JSON.stringify(
    rules.map(({ rule: { effect, subjects, condition } }) => [effect, subjects, condition?.text]),
  )
}

/** Everybody whom the rules name, a stranger, and a caller without a credential. */
function subjectsOf(rules: readonly ReachingRule[]): readonly Subject[] {
  const named = rules.flatMap(({ rule: { subjects } }) => [
    ...subjectsIn(subjects),
    ...(subjects.except ? subjectsIn(subjects.except) : []),
  ])
  const always = [anybody, unauthenticated]
  return [...new Map([...always, ...named].map((subject) => [JSON.stringify(subject), subject])).values()]
}

const nothingKnown: Known = {
  caller: { isAnonymous: false, user: undefined, key: undefined, groups: new Set(), others: new Set() },
  conditions: new Map(),
}

/** A caller whom the rules name in this way and in no other. */
function onlyKnownAs({ kind, name }: Subject): Known {
  const caller = {
    isAnonymous: kind === 'anonymous',
    user: kind === 'user' ? name : '',
    key: kind === 'key' ? name : '',
    groups: new Set(kind === 'group' ? [name] : []),
    others: 'all',
  } as const
  return { caller, conditions: new Map() }
}
