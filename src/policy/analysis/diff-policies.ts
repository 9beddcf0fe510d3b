import type { Identifier } from '../../catalog-api/identifiers.ts'
import { isInNamespace } from '../../catalog-api/object-kinds.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { findDifference, type DecisionDifference, type KnownInputs } from './find-difference.ts'
import { representativeNames } from './name-classes.ts'
import { createNameMatcher } from '../conditions/name-pattern.ts'
import { objectKindOfPermission } from '../language/permission-object-kind.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import { listPermissions } from './list-permissions.ts'
import {
  documentsAbove,
  indexDocuments,
  namespaceKey,
  type DocumentIndex,
  type ObjectPosition,
  type ReachingRule,
} from './reaching-rules.ts'
import { findTags, getVocabulary, listTaggedTables, rulesInEffect } from './find-tags.ts'
import { formatTags } from '../tags/object-tags.ts'
import { anySubject, knownAsOnly, listSubjects, anonymousSubject, type Subject } from './subject.ts'

export interface DecisionChange extends DecisionDifference {
  readonly position: ObjectPosition
  readonly permission: Permission
  readonly direction: 'gains' | 'loses'
}

export interface PolicyDiff {
  readonly changes: readonly DecisionChange[]
  /** Positions that represent all objects. Those with a table are listed only for namespaces with changed policies. */
  readonly positions: readonly ObjectPosition[]
}

/**
 * Compares two policy sets. The result is complete: a decision that is not listed does not change for any caller and
 * any result of conditions, provided that conditions with equal text have equal results.
 *
 * A finite comparison suffices. A decision depends on the policies of the namespaces from the root to the object, and a
 * namespace without policies in either set is decided like its nearest ancestor with policies; so the namespaces of the
 * policies and the root represent all. Within a namespace only the patterns of `tables` distinguish names, so one name
 * per set of matching patterns represents all (`representativeNames`). All permissions are compared. Rules distinguish
 * callers by name, groups and keys: first each named subject, an unnamed caller and an anonymous caller are compared;
 * if none of these differs, all combinations (`findDifference`).
 */
export function diffPolicies(
  before: readonly PolicyDocument[],
  after: readonly PolicyDocument[],
): PolicyDiff {
  const [one, other] = [indexDocuments(before), indexDocuments(after)]
  const contentOf = createContentCache()
  const permissions = listPermissions([...before, ...after])
  const namespaces = new Map<string, Identifier>([
    ['', []],
    ...[...before, ...after].map(({ namespace }) => [namespaceKey(namespace), namespace] as const),
  ])
  const readsTags = [...before, ...after].some(({ rules }) =>
    rules.some(({ condition }) => condition?.tags.length),
  )
  const describeTags = (index: DocumentIndex, namespace: Identifier): string =>
    readsTags ? describeTagsIn(index, namespace) : ''
  const positions: ObjectPosition[] = []
  const changes = [...namespaces.values()].flatMap((namespace) => {
    const contentIn = (index: DocumentIndex): string =>
      contentOf(documentsAbove(index, namespace)) + describeTags(index, namespace)
    if (contentIn(one) === contentIn(other)) {
      positions.push({ namespace, table: undefined })
      return []
    }
    const ownDocuments = [
      ...(one.get(namespaceKey(namespace)) ?? []),
      ...(other.get(namespaceKey(namespace)) ?? []),
    ]
    const tagged = readsTags ? [one, other].flatMap((index) => listTaggedTables(index, namespace)) : []
    const ownPositions = positionsInNamespace(namespace, ownDocuments, tagged)
    positions.push(...ownPositions)
    return ownPositions.flatMap((position) =>
      permissions
        .filter((permission) => position.table === undefined || isNamespaceMember(permission))
        .flatMap((permission) => findChangesAt(one, other, position, permission)),
    )
  })
  return { changes, positions }
}

/** Cached per document, because many namespaces share ancestors. */
function createContentCache(): (documents: readonly PolicyDocument[]) => string {
  const texts = new Map<PolicyDocument, string>()
  return (documents) =>
    documents
      .map((document) => {
        const { namespace, inherit, final, rules } = document
        const known = texts.get(document)
        if (known !== undefined) return known
        const ruleContents = rules.map(({ effect, subjects, permissions, tables, condition }) => [
          effect,
          subjects,
          [...permissions],
          tables,
          condition?.text,
        ])
        const text = JSON.stringify([namespace, inherit, [...final], ruleContents])
        texts.set(document, text)
        return text
      })
      .join('\n')
}

/**
 * Returns positions that represent all objects of a namespace; the one without a table also represents names that no
 * pattern matches.
 */
export function positionsInNamespace(
  namespace: Identifier,
  documents: readonly PolicyDocument[],
  taggedTables: readonly string[],
): readonly ObjectPosition[] {
  const patterns = documents.flatMap(({ rules }) => rules.flatMap(({ tables }) => tables ?? []))
  const matchers = patterns.map(createNameMatcher)
  // A name that no pattern matches is decided like a namespace beneath without policies.
  const names =
    patterns.length === 0
      ? []
      : representativeNames(patterns).filter((name) => matchers.some((matches) => matches(name)))
  const tables = new Set([...names, ...taggedTables])
  return [{ namespace, table: undefined }, ...[...tables].map((table) => ({ namespace, table }))]
}

/** Describes the tags of all objects of a namespace; equal texts for equal tags. */
function describeTagsIn(index: DocumentIndex, namespace: Identifier): string {
  const tables = [undefined, ...listTaggedTables(index, namespace).toSorted()]
  const tags = tables.map((table) => [table, formatTags(findTags(index, { namespace, table }))])
  return JSON.stringify([tags, [...getVocabulary(index).ofObjects].toSorted()])
}

export function isNamespaceMember(permission: Permission): boolean {
  return isInNamespace(objectKindOfPermission(permission))
}

function findChangesAt(
  one: DocumentIndex,
  other: DocumentIndex,
  position: ObjectPosition,
  permission: Permission,
): readonly DecisionChange[] {
  const before = rulesInEffect(one, position, permission)
  const after = rulesInEffect(other, position, permission)
  if (rulesKey(before) === rulesKey(after)) return []
  const find = (start: KnownInputs): readonly DecisionChange[] =>
    (['gains', 'loses'] as const).flatMap((direction) => {
      const found = findDifference(before, after, start, direction)
      return found === undefined ? [] : [{ position, permission, direction, ...found }]
    })
  const changes = namedSubjects([...before, ...after]).flatMap((subject) =>
    find({ caller: knownAsOnly(subject), conditions: new Map() }),
  )
  return changes.length > 0 ? changes : find(noKnownInputs)
}

function rulesKey(rules: readonly ReachingRule[]): string {
  return JSON.stringify(
    rules.map(({ rule: { effect, subjects, condition } }) => [effect, subjects, condition?.text]),
  )
}

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
