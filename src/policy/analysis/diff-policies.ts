import type { Identifier } from '../../catalog-api/identifiers.ts'
import { permissionNames, type Permission } from '../../catalog-api/permissions.ts'
import { findDifference, type DecisionDifference, type KnownInputs } from './find-difference.ts'
import { representativeNames } from './name-classes.ts'
import { createNameMatcher } from '../conditions/name-pattern.ts'
import { objectKindOfPermission } from '../language/permission-object-kind.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import {
  documentsAbove,
  indexDocuments,
  namespaceKey,
  rulesReaching,
  type DocumentIndex,
  type ObjectPosition,
  type ReachingRule,
} from './reaching-rules.ts'
import { anySubject, listSubjects, anonymousSubject, type Subject } from './subject.ts'

/** A decision that two sets of policies make differently. */
export interface DecisionChange extends DecisionDifference {
  readonly position: ObjectPosition
  readonly permission: Permission
  readonly direction: 'gains' | 'loses'
}

/** Which decisions change. */
export interface PolicyDiff {
  readonly changes: readonly DecisionChange[]
  /** The positions that stand for all objects; those with a table only of namespaces where something changes. */
  readonly positions: readonly ObjectPosition[]
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
  const say = createContentCache()
  const namespaces = new Map<string, Identifier>([
    ['', []],
    ...[...before, ...after].map(({ namespace }) => [namespaceKey(namespace), namespace] as const),
  ])
  const positions: ObjectPosition[] = []
  const changes = [...namespaces.values()].flatMap((namespace) => {
    const [above, aboveThen] = [documentsAbove(one, namespace), documentsAbove(other, namespace)]
    if (say(above) === say(aboveThen)) {
      positions.push({ namespace, table: undefined })
      return []
    }
    const here = [...(one.get(namespaceKey(namespace)) ?? []), ...(other.get(namespaceKey(namespace)) ?? [])]
    const inside = positionsInNamespace(namespace, here)
    positions.push(...inside)
    return inside.flatMap((position) =>
      permissionNames
        .filter((permission) => position.table === undefined || isNamespaceMember(permission))
        .flatMap((permission) => findChangesAt(one, other, position, permission)),
    )
  })
  return { changes, positions }
}

/** What the documents say to decisions, in one text; remembered, as many namespaces lie below the same. */
function createContentCache(): (documents: readonly PolicyDocument[]) => string {
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
function positionsInNamespace(
  namespace: Identifier,
  documents: readonly PolicyDocument[],
): readonly ObjectPosition[] {
  const patterns = documents.flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const matchers = patterns.map(createNameMatcher)
  // A name that matches nothing is decided like a namespace beneath that no policy names.
  const names =
    patterns.length === 0
      ? []
      : representativeNames(patterns).filter((name) => matchers.some((matches) => matches(name)))
  return [{ namespace, table: undefined }, ...names.map((table) => ({ namespace, table }))]
}

/** Whether the permission is one on something in a namespace. */
export function isNamespaceMember(permission: Permission): boolean {
  const kind = objectKindOfPermission(permission)
  return kind !== 'namespace' && kind !== 'none'
}

function findChangesAt(
  one: DocumentIndex,
  other: DocumentIndex,
  position: ObjectPosition,
  permission: Permission,
): readonly DecisionChange[] {
  const before = effectiveRules(one, position, permission)
  const after = effectiveRules(other, position, permission)
  if (rulesKey(before) === rulesKey(after)) return []
  const find = (start: KnownInputs): readonly DecisionChange[] =>
    (['gains', 'loses'] as const).flatMap((direction) => {
      const found = findDifference(before, after, start, direction)
      return found === undefined ? [] : [{ position, permission, direction, ...found }]
    })
  const changes = namedSubjects([...before, ...after]).flatMap((subject) => find(inputsOfSubject(subject)))
  return changes.length > 0 ? changes : find(noKnownInputs)
}

function effectiveRules(
  index: DocumentIndex,
  position: ObjectPosition,
  permission: Permission,
): readonly ReachingRule[] {
  return rulesReaching(index, position, permission).filter(({ obstacle }) => obstacle === undefined)
}

function rulesKey(rules: readonly ReachingRule[]): string {
  return JSON.stringify(
    rules.map(({ rule: { effect, subjects, condition } }) => [effect, subjects, condition?.text]),
  )
}

/** Everybody whom the rules name, a stranger, and a caller without a credential. */
function namedSubjects(rules: readonly ReachingRule[]): readonly Subject[] {
  const named = rules.flatMap(({ rule: { subjects } }) => [
    ...listSubjects(subjects),
    ...(subjects.except ? listSubjects(subjects.except) : []),
  ])
  const always = [anySubject, anonymousSubject]
  return [...new Map([...always, ...named].map((subject) => [JSON.stringify(subject), subject])).values()]
}

const noKnownInputs: KnownInputs = {
  caller: {
    isAnonymous: false,
    user: undefined,
    key: undefined,
    groups: new Set(),
    excludedGroups: new Set(),
  },
  conditions: new Map(),
}

/** A caller whom the rules name in this way and in no other. */
function inputsOfSubject({ kind, name }: Subject): KnownInputs {
  const caller = {
    isAnonymous: kind === 'anonymous',
    user: kind === 'user' ? name : '',
    key: kind === 'key' ? name : '',
    groups: new Set(kind === 'group' ? [name] : []),
    excludedGroups: 'all',
  } as const
  return { caller, conditions: new Map() }
}
