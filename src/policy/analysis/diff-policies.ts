import { type Identifier, isWithin, type Permission } from '../../catalog-api/index.ts'
import { groupBy, runAtOnce } from '../../lib/index.ts'
import type { Condition } from '../conditions/condition.ts'
import type { ConditionResult } from '../engine/evaluate.ts'
import { isNamespaceMember, type ObjectPosition } from '../engine/object-position.ts'
import { revisionSteps } from '../engine/policy-revision.ts'
import {
  anonymousSubject,
  anyCaller,
  anySubject,
  knownAsOnly,
  listSubjects,
  type KnownCaller,
} from '../engine/subject.ts'
import { listPermissions } from '../language/policy-vocabulary.ts'
import type { PolicySet } from '../policy-set.ts'
import { formatTags } from '../tags/object-tags.ts'
import {
  listNamespaces,
  listOpenNames,
  listOwnDocuments,
  listPositionClasses,
  listSteps,
  type ReportedPart,
  type ReportedRule,
  reportPart,
  reportRule,
} from './steps.ts'

/** An operation that the policies decide in another way, or that reads another part of a table, for these callers. */
export interface PolicyChange extends ObjectPosition {
  /** `changes`: the callers read some of the table that they could not read, and no longer read some of it. */
  readonly direction: 'gains' | 'loses' | 'changes'
  readonly operation: Permission
  readonly caller: ReportedCaller
  /** Results of conditions, by their text. */
  readonly conditions: Readonly<Record<string, ConditionResult>>
  readonly before: DecisionReport
  readonly after: DecisionReport
}

/** Callers of whom this is known; nothing else of them matters. */
export type ReportedCaller = ReturnType<typeof reportInputs>['caller']

export interface DecisionReport {
  readonly allowed: boolean
  /** Undefined if no rule allows it. */
  readonly rule?: ReportedRule | undefined
  /** The part of the table that restrictions leave; undefined for all. */
  readonly restriction?: ReportedPart
}

/**
 * Compares two policy sets. The result is complete: nothing else changes for any caller and any result of conditions,
 * provided that conditions with equal text have equal results.
 *
 * A finite comparison suffices. A decision depends on the policies of the namespaces from the root to the object, and a
 * namespace without policies in either set is decided like its nearest ancestor with policies; so the namespaces of the
 * policies and the root represent all. Within a namespace only the patterns of `tables` distinguish names, so a name
 * for each pattern and for each two that overlap represents all (`listPositionClasses`). Of permissions that depend on the same
 * rules, one represents all. Rules distinguish callers by name, groups and keys: first each named subject, an unnamed
 * caller and an anonymous caller are compared; if none of these differs, all combinations.
 */
export function diffPolicies(one: PolicySet, other: PolicySet): readonly PolicyChange[] {
  const permissions = listPermissions([...one.documents, ...other.documents])
  const namespaces = [...new Map([['', []], ...listNamespaces(one, other)]).values()]
  const edited = namespaces.filter((own) => describeOwn(one, own) !== describeOwn(other, own))
  const affected = namespaces.filter((namespace) => edited.some((above) => isWithin(namespace, above)))
  const positions = affected.flatMap((namespace) => listPositionClasses([one, other], namespace))
  return positions.flatMap((position) => {
    const possible = permissions.filter(
      (permission) => position.table === undefined || isNamespaceMember(permission),
    )
    const classes = groupBy(possible, (permission) =>
      [one, other].map((set) => describeRules(set, position, permission)).join('\n'),
    )
    return [...classes.values()].flatMap((alike) => {
      const found = alike
        .slice(0, 1)
        .flatMap((first) => findCases(createSide(one, position, first), createSide(other, position, first)))
      return alike.flatMap((operation) =>
        found.map(({ direction, ...inputs }) => ({ direction, operation, ...position, ...inputs })),
      )
    })
  })
}

/** The policies of the namespace itself, and the tags that rules anywhere may read. */
function describeOwn(set: PolicySet, namespace: Identifier): string {
  const { all, ofObjects } = set.findTags({ namespace, table: undefined }).vocabulary
  const revision = runAtOnce(revisionSteps(listOwnDocuments(set, namespace)))
  return JSON.stringify([revision, [...all].toSorted(), [...ofObjects].toSorted()])
}

/** Equal for permissions to which the same rules may apply, under the same conditions. */
function describeRules(set: PolicySet, position: ObjectPosition, permission: Permission): string {
  let text = ''
  set.evaluate({ permission, position, caller: anyCaller }, (step) => {
    const { document, rule, implication, outcome, condition } = step
    text += `${document.name}/${rule.id} ${implication} ${outcome} ${condition !== undefined}, `
  })
  return text
}

/** Known parts of a request besides permission and object: its caller, and results of conditions by their text. */
interface Known {
  readonly caller: KnownCaller
  readonly conditions: ReadonlyMap<string, ConditionResult>
}

const nothing: Known = { caller: anyCaller, conditions: new Map() }

type Side = ReturnType<typeof createSide>

/** A rule or a restriction that may apply, and its conditions for that. */
type Dependency = ReturnType<ReturnType<Side>['listDependencies']>[number]

/**
 * Returns a function that decides a partly known request; `decision` is undefined if it is open. Conditions that the
 * permission and the tags decide are evaluated; the results of others are those that are known.
 */
function createSide(set: PolicySet, position: ObjectPosition, permission: Permission) {
  const tags = formatTags(set.findTags(position))
  const textOf = ({ text, tags: { length } }: Condition): string =>
    length === 0 ? text : `${text} // tags: ${tags}`
  return ({ caller, conditions }: Known) => {
    const get = (condition: Condition): ConditionResult | undefined => conditions.get(textOf(condition))
    const request = { permission, position, caller, conditions: { get } }
    const { kind, by, possible, restrictions } = listSteps(set, request)
    const parts = kind === 'allowed' ? restrictions : []
    const isOpen = kind === 'open' || parts.some(({ match }) => match !== true)
    const restriction = !isOpen && parts.length > 0 && { restriction: reportPart(parts) }
    const result: DecisionReport = { allowed: kind === 'allowed', rule: by && reportRule(by), ...restriction }
    return {
      decision: isOpen ? undefined : result,
      listDependencies: () =>
        [...possible, ...restrictions].map((step) => ({
          effect: step.rule.effect,
          match: step.match,
          condition: step.condition && textOf(step.condition),
          leaves: step.outcome === 'restricts' ? { ...reportPart([step]), rules: undefined } : undefined,
        })),
    }
  }
}

function isSame(one: readonly Dependency[], other: readonly Dependency[]): boolean {
  const describe = (rules: readonly Dependency[]): string =>
    [...new Set(rules.map((rule) => JSON.stringify(rule)))].toSorted().join('\n')
  return describe(one) === describe(other)
}

/** Inputs for which two policy sets decide differently. */
type Case = Omit<PolicyChange, 'operation' | keyof ObjectPosition>

function findCases(before: Side, after: Side): readonly Case[] {
  const [one, other] = [before(nothing).listDependencies(), after(nothing).listDependencies()]
  if (isSame(one, other)) return []
  const rules = [...one, ...other]
  const isRestricted = rules.some(({ leaves }) => leaves !== undefined)
  const search = (caller: KnownCaller): readonly Case[] =>
    searchCases(before, after, { ...nothing, caller }, isRestricted ? kinds : kinds.slice(0, 2))
  const named = [anySubject, anonymousSubject, ...listSubjects(listOpenNames(rules))]
  const found = named.flatMap((subject) => search(knownAsOnly(subject)))
  return found.length > 0 ? found : search({ ...anyCaller, isAnonymous: false })
}

/** Gains and losses by whether the operation is allowed before and after: if it stays allowed, parts of a table. */
const kinds = [
  ['gains', false, true],
  ['loses', true, false],
  ['gains', true, true],
  ['loses', true, true],
  ['changes', true, true],
] as const

type Kind = (typeof kinds)[number]

const maxCases = 50_000

/**
 * Searches for inputs for which the policies decide differently, and returns the first of each kind. The search splits
 * cases by one name, group or condition at a time until both decisions are certain or depend on equal rules in the same
 * way, so it is complete for all callers and results of conditions. Throws RangeError if there are too many cases.
 */
function searchCases(before: Side, after: Side, start: Known, wanted: readonly Kind[]): readonly Case[] {
  const found = new Map<Kind, Case>()
  let cases = 0
  search(start)
  return [...found.values()]

  function search(known: Known): void {
    if (++cases > maxCases) throw new RangeError('too many rules for one object to analyze all callers')
    const [one, other] = [before(known), after(known)]
    const [was, is] = [one.decision, other.decision]
    const possible = wanted.filter(
      (kind) =>
        !found.has(kind) && (was?.allowed ?? kind[1]) === kind[1] && (is?.allowed ?? kind[2]) === kind[2],
    )
    if (possible.length === 0) return
    if (was !== undefined && is !== undefined) {
      const direction = compareDecisions(was, is)
      const kind = possible.find(([one]) => one === direction)
      if (kind !== undefined)
        found.set(kind, { direction: kind[0], ...reportInputs(known), before: was, after: is })
      return
    }
    const ofOne = was === undefined ? one.listDependencies() : []
    const ofOther = is === undefined ? other.listDependencies() : []
    if (was === undefined && is === undefined && isSame(ofOne, ofOther)) return
    for (const next of splitCases([...ofOne, ...ofOther], known)) search(next)
  }
}

function compareDecisions(before: DecisionReport, after: DecisionReport) {
  if (before.allowed !== after.allowed) return after.allowed ? 'gains' : 'loses'
  const [isWider, isNarrower] = [leavesAll(after, before), leavesAll(before, after)]
  if (isWider && isNarrower) return undefined
  return isWider ? 'gains' : isNarrower ? 'loses' : 'changes'
}

function leavesAll({ restriction: wide }: DecisionReport, { restriction: narrow }: DecisionReport): boolean {
  if (wide === undefined || narrow === undefined) return wide === undefined
  return (
    Object.entries(narrow.columns).every(([path, type]) => wide.columns[path] === type) &&
    wide.rows.every((condition) => narrow.rows.includes(condition))
  )
}

/** Splits by the first input on which the rules depend. The cases are exhaustive. */
function splitCases(rules: readonly Dependency[], { caller, conditions }: Known): readonly Known[] {
  const { users, keys, groups } = listOpenNames(rules)
  const [group] = groups
  const split = (parts: readonly Partial<KnownCaller>[]): readonly Known[] =>
    parts.map((part) => ({ caller: { ...caller, ...part }, conditions }))
  // No caller has the empty name: it represents all callers and keys that no rule names.
  if (users.length > 0) return split(['', ...users].map((user) => ({ user })))
  if (keys.length > 0) return split(['', ...keys].map((key) => ({ key })))
  if (group !== undefined) {
    const excluded = caller.excludedGroups === 'all' ? [] : caller.excludedGroups
    return split([
      { excludedGroups: new Set([...excluded, group]) },
      { groups: new Set([...caller.groups, group]) },
    ])
  }
  const text = rules.find(({ condition }) => condition !== undefined)?.condition ?? ''
  const results: readonly ConditionResult[] = ['true', 'false', 'failed']
  return results.map((result) => ({ caller, conditions: new Map([...conditions, [text, result]]) }))
}

function reportInputs({ caller, conditions }: Known) {
  const { isAnonymous, user, key, groups, excludedGroups } = caller
  return {
    caller: {
      ...(isAnonymous && { anonymous: true }),
      ...(user && { user }),
      ...(key && { key }),
      groups: [...groups],
      notInGroups: excludedGroups === 'all' ? ('all others' as const) : [...excludedGroups],
    },
    conditions: Object.fromEntries(conditions),
  }
}
