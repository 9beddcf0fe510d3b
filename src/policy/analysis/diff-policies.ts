import { isWithin, type Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { runAtOnce } from '../../lib/async/run-in-slices.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { Condition } from '../conditions/condition.ts'
import type { ConditionResult, RestrictionStep, RuleAbout, Step } from '../engine/evaluate.ts'
import { isNamespaceMember, readsPart, type ObjectPosition } from '../engine/object-position.ts'
import { revisionSteps } from '../engine/policy-revision.ts'
import {
  anonymousSubject,
  anyCaller,
  anySubject,
  knownAsOnly,
  listSubjects,
  type KnownCaller,
  type Subject,
} from '../engine/subject.ts'
import { listPermissions } from '../language/policy-vocabulary.ts'
import type { NamedSubjects, PolicyDocument } from '../language/policy-document.ts'
import type { PolicySet, Question } from '../policy-set.ts'
import { formatTags } from '../tags/object-tags.ts'
import { listNameClasses } from './name-classes.ts'
import {
  listNamespaces,
  listOwnDocuments,
  listSteps,
  reportPart,
  reportRule,
  type ReportedPart,
  type ReportedRule,
} from './steps.ts'

/** An operation that the policies decide in another way, or that reads another part of a table, for these callers. */
export interface PolicyChange extends ObjectPosition {
  /** `changes`: the callers read some of the table that they could not read, and no longer read some of it. */
  readonly direction: 'gains' | 'loses' | 'changes'
  readonly operation: Permission
  readonly caller: ReportedCaller
  /** Results of conditions, by their text. */
  readonly conditions: Readonly<Record<string, ConditionResult>>
  readonly before: Answer
  readonly after: Answer
}

/** Callers of whom this is known; nothing else of them matters. */
export interface ReportedCaller {
  readonly anonymous?: true
  readonly user?: string
  readonly key?: string
  readonly groups: readonly string[]
  readonly notInGroups: readonly string[] | 'all others'
}

export interface Answer {
  readonly allowed: boolean
  /** Undefined if no rule allows it. */
  readonly rule: ReportedRule | undefined
  /** What restrictions leave of the table; undefined for all. */
  readonly restriction?: ReportedPart
}

export interface PolicyDiff {
  readonly changes: readonly PolicyChange[]
  /** Positions that represent all objects. Those with a table are listed only for namespaces with changed policies. */
  readonly positions: readonly ObjectPosition[]
}

/**
 * Compares two policy sets. The result is complete: what is not listed does not change for any caller and any result of
 * conditions, provided that conditions with equal text have equal results.
 *
 * A finite comparison suffices. A decision depends on the policies of the namespaces from the root to the object, and a
 * namespace without policies in either set is decided like its nearest ancestor with policies; so the namespaces of the
 * policies and the root represent all. Within a namespace only the patterns of `tables` distinguish names, so a name
 * for each pattern and for each two that overlap represents all (`listNameClasses`). Of permissions that the same rules are
 * about, one represents all. Rules distinguish callers by name, groups and keys: first each named subject, an unnamed
 * caller and an anonymous caller are compared; if none of these differs, all combinations.
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
        const found = findCases(createSide(one, position, first), createSide(other, position, first))
        return alike.flatMap((operation) => found.map((one) => reportChange(one, position, operation)))
      }),
    )
  })
  return { changes, positions }
}

/** Whether the policies of the namespace itself differ, or tags that rules anywhere may read. */
function isEdited(one: PolicySet, other: PolicySet, namespace: Identifier): boolean {
  const [before, after] = [one, other].map((set) => {
    const { all, ofObjects } = set.findTags({ namespace, table: undefined }).vocabulary
    const tags = set.documents.some(({ rules }) => rules.some(readsTags)) ? [...all, '', ...ofObjects] : []
    return JSON.stringify([runAtOnce(revisionSteps(listOwnDocuments(set, namespace))), tags.toSorted()])
  })
  return before !== after
}

function readsTags({ condition, restriction }: PolicyDocument['rules'][number]): boolean {
  return (condition?.tags.length ?? 0) > 0 || (restriction !== undefined && 'without' in restriction.columns)
}

/** Equal for permissions that rules do not tell apart. A condition on tags is evaluated, and may read the permission. */
function describeClass(permission: Permission, documents: readonly PolicyDocument[]): string {
  const about = documents.flatMap(({ rules }) => rules.map(({ permissions }) => permissions.has(permission)))
  const readsTags = documents.some(({ rules }) =>
    rules.some(({ permissions, condition }) => permissions.has(permission) && condition?.tags.length),
  )
  const final = documents.map((document) => document.final.has(permission))
  const kind = [isNamespaceMember(permission), readsPart(permission)]
  return JSON.stringify([about, final, kind, readsTags && permission])
}

/** Known inputs besides permission and object: the caller, and results of conditions by their text. */
interface KnownInputs {
  readonly caller: KnownCaller
  readonly conditions: ReadonlyMap<string, ConditionResult>
}

/** What a rule or a restriction that may apply depends on. */
interface Dependency extends Pick<Step, 'match'> {
  readonly effect: 'allow' | 'deny'
  readonly condition: string | undefined
  readonly leaves: string | undefined
}

/** What one of the policy sets says. */
interface Decided {
  readonly allowed: boolean
  readonly by: RuleAbout | undefined
  readonly restrictions: readonly RestrictionStep[]
}

/** One of two policy sets, at one position and for one permission. */
interface Side {
  /** Returns the answer; undefined if it is open. */
  decide(known: KnownInputs): Decided | undefined
  /** Returns what an open answer depends on, with all conditions decided that the operation and the tags decide. */
  listDependencies(known?: KnownInputs): readonly Dependency[]
}

function createSide(set: PolicySet, position: ObjectPosition, permission: Permission): Side {
  const tags = formatTags(set.findTags(position))
  const textOf = ({ text, tags: { length } }: Condition): string =>
    length === 0 ? text : `${text} // tags: ${tags}`
  const ask = ({ caller, conditions }: KnownInputs): Question => {
    // A condition on tags is evaluated: they may decide it.
    const get = (condition: Condition): ConditionResult | undefined =>
      conditions.get(textOf(condition)) ?? (condition.tags.length === 0 ? 'open' : undefined)
    return { permission, position, caller, conditions: { get } }
  }
  const mayBeRestricted = position.table !== undefined && readsPart(permission)
  return {
    decide(known) {
      const question = ask(known)
      const { kind, by } = set.evaluate(question)
      if (kind === 'open') return undefined
      const allowed = kind === 'allowed'
      const restrictions = allowed && mayBeRestricted ? listSteps(set, question).restrictions : []
      return restrictions.every(({ match }) => match === true) ? { allowed, by, restrictions } : undefined
    },
    listDependencies(known) {
      const question = known === undefined ? { permission, position, caller: anyCaller } : ask(known)
      const { possible, restrictions } = listSteps(set, question)
      return [...possible, ...restrictions].map((step) => ({
        effect: step.rule.effect,
        match: step.match,
        condition: step.condition && textOf(step.condition),
        leaves: step.outcome === 'restricts' ? describePart(step) : undefined,
      }))
    },
  }
}

function describePart(restriction: RestrictionStep): string {
  const { columns, rows } = reportPart([restriction])
  return JSON.stringify([Object.entries(columns).map(String).toSorted(), rows])
}

/** Inputs for which two policy sets answer differently. */
interface Case extends Pick<PolicyChange, 'direction'> {
  readonly known: KnownInputs
  readonly before: Decided
  readonly after: Decided
}

function findCases(before: Side, after: Side): readonly Case[] {
  const [one, other] = [before.listDependencies(), after.listDependencies()]
  if (isSameDependency(one, other)) return []
  const rules = [...one, ...other]
  const isRestricted = rules.some(({ leaves }) => leaves !== undefined)
  const search = (caller: KnownCaller): readonly Case[] =>
    searchCases(before, after, { caller, conditions: new Map() }, isRestricted)
  const found = listMentioned(rules).flatMap((subject) => search(knownAsOnly(subject)))
  return found.length > 0 ? found : search({ ...anyCaller, isAnonymous: false })
}

/** An unnamed caller, an anonymous one, and each subject that a rule names, also in its exceptions. */
function listMentioned(rules: readonly Dependency[]): readonly Subject[] {
  const subjects = [anySubject, anonymousSubject, ...listOpenNames(rules).flatMap(listSubjects)]
  return [...new Map(subjects.map((subject) => [JSON.stringify(subject), subject])).values()]
}

/** The names, also in exceptions, on which it depends whether the rules name the caller. */
function listOpenNames(rules: readonly Dependency[]): readonly NamedSubjects[] {
  return rules.flatMap(({ match }) =>
    typeof match === 'boolean' ? [] : [match, ...(match.except ? [match.except] : [])],
  )
}

/** Whether the rules are equivalent. */
function isSameDependency(one: readonly Dependency[], other: readonly Dependency[]): boolean {
  const [key, otherKey] = [one, other].map((rules) =>
    [...new Set(rules.map((rule) => JSON.stringify(rule)))].toSorted().join('\n'),
  )
  return key === otherKey
}

const maxCases = 50_000

/**
 * Searches for inputs to which the policies answer differently, and returns the first of each direction, of decisions and
 * of parts that are left. The search splits cases by one name, group or condition at a time until both answers are certain
 * or depend on equal rules in the same way, so it is complete for all callers and results of conditions. Throws RangeError
 * if there are too many cases.
 */
function searchCases(before: Side, after: Side, start: KnownInputs, isRestricted: boolean): readonly Case[] {
  const found = new Map<string, Case>()
  let cases = 0
  search(start)
  return [...found.values()]

  function search(known: KnownInputs): void {
    if (++cases > maxCases) throw new RangeError('too many rules for one object to analyze all callers')
    const [one, other] = [before.decide(known), after.decide(known)]
    if (one !== undefined && other !== undefined) {
      const direction = compareAnswers(one, other)
      if (direction === undefined) return
      const kind = one.allowed === other.allowed ? `part ${direction}` : direction
      if (!found.has(kind)) found.set(kind, { direction, known, before: one, after: other })
      return
    }
    const mayRead = isRestricted && one?.allowed !== false && other?.allowed !== false
    const possible = [
      ...(one?.allowed !== true && other?.allowed !== false ? ['gains'] : []),
      ...(one?.allowed !== false && other?.allowed !== true ? ['loses'] : []),
      ...(mayRead ? ['part gains', 'part loses', 'part changes'] : []),
    ]
    if (possible.every((kind) => found.has(kind))) return
    const ofOne = one === undefined ? before.listDependencies(known) : []
    const ofOther = other === undefined ? after.listDependencies(known) : []
    if (one === undefined && other === undefined && isSameDependency(ofOne, ofOther)) return
    for (const next of splitCases([...ofOne, ...ofOther], known)) search(next)
  }
}

/** Returns what callers gain or lose; undefined if the answers are alike. */
function compareAnswers(before: Decided, after: Decided): PolicyChange['direction'] | undefined {
  if (before.allowed !== after.allowed) return after.allowed ? 'gains' : 'loses'
  const [isWider, isNarrower] = [leavesAll(after, before), leavesAll(before, after)]
  if (isWider && isNarrower) return undefined
  return isWider ? 'gains' : isNarrower ? 'loses' : 'changes'
}

/** Whether one answer leaves all of the table that the other one leaves. */
function leavesAll({ restrictions }: Decided, { restrictions: others }: Decided): boolean {
  if (restrictions.length === 0 || others.length === 0) return restrictions.length === 0
  const [wide, narrow] = [reportPart(restrictions), reportPart(others)]
  return (
    Object.entries(narrow.columns).every(([path, type]) => wide.columns[path] === type) &&
    wide.rows.every((condition) => narrow.rows.includes(condition))
  )
}

/** Splits by the first input on which the rules depend. The cases are exhaustive. */
function splitCases(
  rules: readonly Dependency[],
  { caller, conditions }: KnownInputs,
): readonly KnownInputs[] {
  const names = listOpenNames(rules)
  const all = (kind: keyof NamedSubjects): readonly string[] => [
    ...new Set(names.flatMap((list) => list[kind])),
  ]
  const [users, keys, [group]] = [all('users'), all('keys'), all('groups')]
  // No caller has the empty name: it represents all callers and keys that no rule names.
  if (users.length > 0) return ['', ...users].map((user) => ({ caller: { ...caller, user }, conditions }))
  if (keys.length > 0) return ['', ...keys].map((key) => ({ caller: { ...caller, key }, conditions }))
  if (group !== undefined) {
    const { groups, excludedGroups } = caller
    const without = excludedGroups === 'all' ? excludedGroups : new Set([...excludedGroups, group])
    return [
      { caller: { ...caller, excludedGroups: without }, conditions },
      { caller: { ...caller, groups: new Set([...groups, group]) }, conditions },
    ]
  }
  const text = rules.find(({ condition }) => condition !== undefined)?.condition ?? ''
  const results: readonly ConditionResult[] = ['true', 'false', 'failed']
  return results.map((result) => ({ caller, conditions: new Map([...conditions, [text, result]]) }))
}

/** `operation` is one of those that the case stands for. */
function reportChange(
  { direction, known, before, after }: Case,
  position: ObjectPosition,
  operation: Permission,
): PolicyChange {
  const { isAnonymous, user, key, groups, excludedGroups } = known.caller
  return {
    direction,
    operation,
    ...position,
    caller: {
      ...(isAnonymous && { anonymous: true }),
      ...(user && { user }),
      ...(key && { key }),
      groups: [...groups],
      notInGroups: excludedGroups === 'all' ? 'all others' : [...excludedGroups],
    },
    conditions: Object.fromEntries(known.conditions),
    before: reportAnswer(before, operation),
    after: reportAnswer(after, operation),
  }
}

function reportAnswer({ allowed, by, restrictions }: Decided, operation: Permission): Answer {
  return {
    allowed,
    rule: by && reportRule({ ...by, implication: by.rule.implied.get(operation) }),
    ...(restrictions.length > 0 && { restriction: reportPart(restrictions) }),
  }
}
