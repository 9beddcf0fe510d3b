import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { Step } from '../engine/evaluate.ts'
import { isNamespaceMember, namespaceKey, type ObjectPosition } from '../engine/object-position.ts'
import { anonymousSubject, anySubject, knownAsOnly, listSubjects, type Subject } from '../engine/subject.ts'
import { listPermissions } from '../language/describe-permissions.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { formatTags } from '../tags/object-tags.ts'
import {
  createSide,
  findDifference,
  noKnownInputs,
  type DecisionDifference,
  type RuleDecision,
  type KnownInputs,
} from './find-difference.ts'
import { listNameClasses } from './name-classes.ts'
import { rulesInEffect } from './rules-in-effect.ts'

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
 * policies and the root represent all. Within a namespace only the patterns of `tables` distinguish names, so a name
 * for each pattern and for each two that overlap represents all (`listNameClasses`). Of permissions that the same rules are
 * about, one represents all. Rules distinguish
 * callers by name, groups and keys: first each named subject, an unnamed caller and an anonymous caller are compared;
 * if none of these differs, all combinations (`findDifference`).
 */
export function diffPolicies(one: PolicySet, other: PolicySet): PolicyDiff {
  const contentOf = createContentCache()
  const documents = [...one.documents, ...other.documents]
  const permissions = listPermissions(documents)
  const byNamespace = groupBy(documents, ({ namespace }) => namespaceKey(namespace))
  const readsTags = documents.some(({ rules }) => rules.some(({ condition }) => condition?.tags.length))
  const positions: ObjectPosition[] = []
  const changes = [...new Map([['', []], ...byNamespace])].flatMap(([, own]) => {
    const namespace = own[0]?.namespace ?? []
    const contentIn = (set: PolicySet): string =>
      contentOf(set.documentsAbove(namespace)) + (readsTags ? describeTagsIn(set, namespace) : '')
    if (contentIn(one) === contentIn(other)) {
      positions.push({ namespace, table: undefined })
      return []
    }
    const tables = listNameClasses([one, other], namespace)
    const ownPositions = [undefined, ...tables].map((table) => ({ namespace, table }))
    positions.push(...ownPositions)
    const above = [one, other].flatMap((set) => set.documentsAbove(namespace))
    const classes = [...groupBy(permissions, (permission) => describeClass(permission, above)).values()]
    return ownPositions.flatMap((position) =>
      classes.flatMap((alike) => {
        const [first] = alike
        if (first === undefined || (position.table !== undefined && !isNamespaceMember(first))) return []
        const changes = findChangesAt(one, other, position, first)
        return alike.flatMap((permission) => changes.map((change) => changePermission(change, permission)))
      }),
    )
  })
  return { changes, positions }
}

/** Equal for permissions that rules do not tell apart. A condition on tags is evaluated, and may read the permission. */
function describeClass(permission: Permission, documents: readonly PolicyDocument[]): string {
  const about = documents.flatMap(({ rules }) => rules.map(({ permissions }) => permissions.has(permission)))
  const readsTags = documents.some(({ rules }) =>
    rules.some(({ permissions, condition }) => permissions.has(permission) && condition?.tags.length),
  )
  const final = documents.map((document) => document.final.has(permission))
  return JSON.stringify([about, final, isNamespaceMember(permission), readsTags && permission])
}

function changePermission(change: DecisionChange, permission: Permission): DecisionChange {
  const decide = ({ allowed, decidingRule }: RuleDecision): RuleDecision => {
    const implication = decidingRule?.rule.implied.get(permission)
    return { allowed, decidingRule: decidingRule && { ...decidingRule, implication } }
  }
  return { ...change, permission, before: decide(change.before), after: decide(change.after) }
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

/** Describes the tags of all objects of a namespace; equal texts for equal tags. */
function describeTagsIn(set: PolicySet, namespace: Identifier): string {
  const tables = [undefined, ...set.listTaggedTables(namespace).toSorted()]
  const tags = tables.map((table) => set.findTags({ namespace, table }))
  const vocabulary = [...(tags[0]?.vocabulary.ofObjects ?? [])].toSorted()
  return JSON.stringify([tables, tags.map(formatTags), vocabulary])
}

function findChangesAt(
  one: PolicySet,
  other: PolicySet,
  position: ObjectPosition,
  permission: Permission,
): readonly DecisionChange[] {
  const before = rulesInEffect(one, position, permission)
  const after = rulesInEffect(other, position, permission)
  const [ofOne, ofOther] = [createSide(one, position, permission), createSide(other, position, permission)]
  if (rulesKey(before) + ofOne.tags === rulesKey(after) + ofOther.tags) return []
  const find = (start: KnownInputs): readonly DecisionChange[] => {
    const [before, after] = [ofOne.decide(start), ofOther.decide(start)]
    const isCertain = 'allowed' in before && 'allowed' in after
    if (isCertain && before.allowed === after.allowed) return []
    return (['gains', 'loses'] as const).flatMap((direction) => {
      const found = findDifference(ofOne, ofOther, start, direction)
      return found === undefined ? [] : [{ position, permission, direction, ...found }]
    })
  }
  const changes = namedSubjects([...before, ...after]).flatMap((subject) =>
    find({ caller: knownAsOnly(subject), conditions: new Map() }),
  )
  return changes.length > 0 ? changes : find(noKnownInputs)
}

function rulesKey(rules: readonly Step[]): string {
  return JSON.stringify(
    rules.map(({ rule: { effect, subjects }, condition }) => [effect, subjects, condition?.text]),
  )
}

function namedSubjects(rules: readonly Step[]): readonly Subject[] {
  const named = rules.flatMap(({ rule: { subjects } }) => [
    ...listSubjects(subjects),
    ...(subjects.except ? listSubjects(subjects.except) : []),
  ])
  const always = [anySubject, anonymousSubject]
  return [...new Map([...always, ...named].map((subject) => [JSON.stringify(subject), subject])).values()]
}
