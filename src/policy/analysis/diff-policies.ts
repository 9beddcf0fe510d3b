import { isWithin, type Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { runAtOnce } from '../../lib/async/run-in-slices.ts'
import { groupBy } from '../../lib/group-by.ts'
import { isNamespaceMember, type ObjectPosition } from '../engine/object-position.ts'
import { revisionSteps } from '../engine/policy-revision.ts'
import {
  anonymousSubject,
  anyCaller,
  anySubject,
  knownAsOnly,
  listSubjects,
  type Subject,
} from '../engine/subject.ts'
import { listPermissions } from '../language/describe-permissions.ts'
import type { PolicyDocument, Subjects } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import {
  createSide,
  findDifferences,
  isSameDependency,
  type DecisionDifference,
  type KnownInputs,
  type RuleDecision,
} from './find-difference.ts'
import { listNameClasses } from './name-classes.ts'
import { listNamespaces, listOwnDocuments } from './steps.ts'

export interface DecisionChange extends DecisionDifference {
  readonly position: ObjectPosition
  readonly permission: Permission
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
  const permissions = listPermissions([...one.documents, ...other.documents])
  const namespaces = new Map([['', []], ...listNamespaces(one, other)])
  const edited = [...namespaces.values()].filter((namespace) => isEdited(one, other, namespace))
  const positions: ObjectPosition[] = []
  const changes = [...namespaces.values()].flatMap((namespace) => {
    positions.push({ namespace, table: undefined })
    if (!edited.some((above) => isWithin(namespace, above))) return []
    const tables = listNameClasses([one, other], namespace).map((table) => ({ namespace, table }))
    positions.push(...tables)
    const above = [one, other].flatMap((set) => set.documentsAbove(namespace))
    const classes = [...groupBy(permissions, (permission) => describeClass(permission, above)).values()]
    return [{ namespace, table: undefined }, ...tables].flatMap((position) =>
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

/** Whether the policies of the namespace itself differ, or tags that conditions anywhere may read. */
function isEdited(one: PolicySet, other: PolicySet, namespace: Identifier): boolean {
  const [before, after] = [one, other].map((set) => {
    const { ofObjects } = set.findTags({ namespace, table: undefined }).vocabulary
    const tags = readsTags(set.documents) ? [...ofObjects].toSorted() : []
    return JSON.stringify([runAtOnce(revisionSteps(listOwnDocuments(set, namespace))), tags])
  })
  return before !== after
}

function readsTags(documents: readonly PolicyDocument[]): boolean {
  return documents.some(({ rules }) => rules.some(({ condition }) => condition?.tags.length))
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

function findChangesAt(
  one: PolicySet,
  other: PolicySet,
  position: ObjectPosition,
  permission: Permission,
): readonly DecisionChange[] {
  const [before, after] = [createSide(one, position, permission), createSide(other, position, permission)]
  if (isSameDependency(before.rules, after.rules)) return []
  const find = (start: KnownInputs): readonly DecisionChange[] =>
    findDifferences(before, after, start).map((difference) => ({ position, permission, ...difference }))
  const named = [...before.rules, ...after.rules].flatMap(({ match }) =>
    typeof match === 'boolean' ? [] : match,
  )
  const changes = listMentioned(named).flatMap((subject) =>
    find({ caller: knownAsOnly(subject), conditions: new Map() }),
  )
  return changes.length > 0
    ? changes
    : find({ caller: { ...anyCaller, isAnonymous: false }, conditions: new Map() })
}

/** An unnamed caller, an anonymous one, and each subject that a rule names, also in its exceptions. */
function listMentioned(named: readonly Subjects[]): readonly Subject[] {
  const mentioned = named.flatMap((subjects) => [
    ...listSubjects(subjects),
    ...(subjects.except ? listSubjects(subjects.except) : []),
  ])
  const always = [anySubject, anonymousSubject]
  return [...new Map([...always, ...mentioned].map((subject) => [JSON.stringify(subject), subject])).values()]
}
