import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../conditions/condition.ts'
import type { ConditionResult } from '../engine/evaluation.ts'
import type { RuleAbout, Step } from '../engine/evaluate.ts'
import type { ObjectPosition } from '../engine/object-position.ts'
import { anyCaller, type KnownCaller } from '../engine/subject.ts'
import type { NamedSubjects } from '../language/policy-document.ts'
import type { PolicySet, Question } from '../policy-set.ts'
import { formatTags } from '../tags/object-tags.ts'
import { listSteps } from './steps.ts'

/** Known inputs besides permission and object: the caller, and results of conditions by their text. */
export interface KnownInputs {
  readonly caller: KnownCaller
  readonly conditions: ReadonlyMap<string, ConditionResult>
}

export interface RuleDecision {
  readonly allowed: boolean
  readonly decidingRule: RuleAbout | undefined
}

/** Inputs for which two policy sets decide differently, with both decisions. */
export interface DecisionDifference {
  readonly direction: 'gains' | 'loses'
  readonly known: KnownInputs
  readonly before: RuleDecision
  readonly after: RuleDecision
}

/** What a rule that may apply depends on. */
interface Dependency extends Pick<Step, 'match'> {
  readonly effect: 'allow' | 'deny'
  readonly condition: string | undefined
}

/** One of two policy sets, at one position and for one permission. */
interface Side {
  /** What the decisions depend on for any caller, with all conditions decided that the operation and the tags decide. */
  readonly rules: readonly Dependency[]
  /** Returns the decision; undefined if it is open. */
  decide(known: KnownInputs): RuleDecision | undefined
  /** Returns what an open decision depends on. */
  listDependencies(known: KnownInputs): readonly Dependency[]
}

export function createSide(set: PolicySet, position: ObjectPosition, permission: Permission): Side {
  const tags = formatTags(set.findTags(position))
  const textOf = ({ text, tags: { length } }: Condition): string =>
    length === 0 ? text : `${text} // tags: ${tags}`
  const ask = ({ caller, conditions }: KnownInputs): Question => {
    // A condition on tags is evaluated: they may decide it.
    const get = (condition: Condition): ConditionResult | undefined =>
      conditions.get(textOf(condition)) ?? (condition.tags.length === 0 ? 'open' : undefined)
    return { permission, position, caller, conditions: { get } }
  }
  const listDependencies = (question: Question): readonly Dependency[] =>
    listSteps(set, question).possible.map(({ rule: { effect }, match, condition }) => ({
      effect,
      match,
      condition: condition && textOf(condition),
    }))
  return {
    rules: listDependencies({ permission, position, caller: anyCaller }),
    decide(known) {
      const { kind, by } = set.evaluate(ask(known))
      return kind === 'open' ? undefined : { allowed: kind === 'allowed', decidingRule: by }
    },
    listDependencies: (known) => listDependencies(ask(known)),
  }
}

const maxCases = 50_000

/**
 * Searches for inputs that the policies allowed before and deny after (`loses`), and the reverse (`gains`); returns the
 * first of each. The search splits cases by one name, group or condition at a time until both decisions are certain or
 * depend on equal rules in the same way, so it is complete for all callers and results of conditions. Throws RangeError if
 * there are too many cases.
 */
export function findDifferences(
  before: Side,
  after: Side,
  start: KnownInputs,
): readonly DecisionDifference[] {
  const found: { gains?: DecisionDifference; loses?: DecisionDifference } = {}
  let cases = 0
  search(start)
  return [found.gains, found.loses].filter((difference) => difference !== undefined)

  function search(known: KnownInputs): void {
    if (++cases > maxCases) throw new RangeError('too many rules for one object to analyze all callers')
    const [one, other] = [before.decide(known), after.decide(known)]
    const mayGain = found.gains === undefined && one?.allowed !== true && other?.allowed !== false
    const mayLose = found.loses === undefined && one?.allowed !== false && other?.allowed !== true
    if (!mayGain && !mayLose) return
    if (one !== undefined && other !== undefined) {
      const direction = mayGain ? 'gains' : 'loses'
      found[direction] = { direction, known, before: one, after: other }
      return
    }
    const ofOne = one === undefined ? before.listDependencies(known) : []
    const ofOther = other === undefined ? after.listDependencies(known) : []
    if (one === undefined && other === undefined && isSameDependency(ofOne, ofOther)) return
    for (const next of splitCases([...ofOne, ...ofOther], known)) search(next)
  }
}

/** Whether the rules are equivalent. */
export function isSameDependency(one: readonly Dependency[], other: readonly Dependency[]): boolean {
  const [key, otherKey] = [one, other].map((rules) =>
    [...new Set(rules.map((rule) => JSON.stringify(rule)))].toSorted().join('\n'),
  )
  return key === otherKey
}

/** Splits by the first input on which the rules depend. The cases are exhaustive. */
function splitCases(
  rules: readonly Dependency[],
  { caller, conditions }: KnownInputs,
): readonly KnownInputs[] {
  const names = rules.flatMap(({ match }) =>
    typeof match === 'boolean' ? [] : [match, ...(match.except ? [match.except] : [])],
  )
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
