import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../conditions/condition.ts'
import type { ConditionResult } from '../engine/evaluation.ts'
import type { RuleAbout, Step } from '../engine/evaluate.ts'
import type { ObjectPosition } from '../engine/object-position.ts'
import { anyCaller, type KnownCaller } from '../engine/subject.ts'
import type { NamedSubjects } from '../language/policy-document.ts'
import type { PolicySet, Question } from '../policy-set.ts'
import { formatTags } from '../tags/object-tags.ts'
import { listPossibleRules } from './rules-in-effect.ts'

/** Known inputs besides permission and object: the caller, and results of conditions by their text. */
export interface KnownInputs {
  readonly caller: KnownCaller
  readonly conditions: ReadonlyMap<string, ConditionResult>
}

export const noKnownInputs: KnownInputs = {
  caller: { ...anyCaller, isAnonymous: false },
  conditions: new Map(),
}

export interface RuleDecision {
  readonly allowed: boolean
  readonly decidingRule: RuleAbout | undefined
}

/** Inputs for which two policy sets decide differently, with both decisions. */
export interface DecisionDifference {
  readonly known: KnownInputs
  readonly before: RuleDecision
  readonly after: RuleDecision
}

/** One of two policy sets, at one position and for one permission. */
interface Side {
  readonly tags: string
  /** Returns the decision or, if it is open, the rules on which it depends. */
  decide(known: KnownInputs): RuleDecision | { readonly possible: readonly Step[] }
  /** The text of a condition, with the tags that it depends on. */
  readonly textOf: (condition: Condition) => string
}

export function createSide(set: PolicySet, position: ObjectPosition, permission: Permission): Side {
  const tags = formatTags(set.findTags(position))
  const textOf = ({ text, tags: { length } }: Condition): string =>
    length === 0 ? text : `${text} // tags: ${tags}`
  return {
    tags,
    textOf,
    decide({ caller, conditions }) {
      // A condition on tags is evaluated: they may decide it.
      const get = (condition: Condition): ConditionResult | undefined =>
        conditions.get(textOf(condition)) ?? (condition.tags.length === 0 ? 'open' : undefined)
      const question: Question = { permission, position, caller, conditions: { get } }
      const { kind, by } = set.evaluate(question)
      return kind === 'open'
        ? { possible: listPossibleRules(set, question) }
        : { allowed: kind === 'allowed', decidingRule: by }
    },
  }
}

const maxCases = 50_000

/**
 * Searches for inputs that the policies allowed before and deny after (`loses`), or the reverse (`gains`); returns
 * undefined if there are none. The search splits cases by one name, group or condition at a time until both decisions are
 * certain or depend on equal rules in the same way, so it is complete for all callers and results of conditions. Throws
 * RangeError if there are too many cases.
 */
export function findDifference(
  before: Side,
  after: Side,
  start: KnownInputs,
  direction: 'gains' | 'loses',
): DecisionDifference | undefined {
  let cases = 0
  return search(start)

  function search(known: KnownInputs): DecisionDifference | undefined {
    if (++cases > maxCases) throw new RangeError('too many rules for one object to analyze all callers')
    const one = before.decide(known)
    if ('allowed' in one && one.allowed !== (direction === 'loses')) return undefined
    const other = after.decide(known)
    if ('allowed' in other && other.allowed !== (direction === 'gains')) return undefined
    if ('allowed' in one && 'allowed' in other) return { known, before: one, after: other }
    const open = [
      ...('possible' in one ? one.possible.map((step) => describeStep(step, before)) : []),
      ...('possible' in other ? other.possible.map((step) => describeStep(step, after)) : []),
    ]
    const count = 'possible' in one ? one.possible.length : 0
    if (
      count > 0 &&
      'possible' in other &&
      dependencyKey(open.slice(0, count)) === dependencyKey(open.slice(count))
    )
      return undefined
    for (const next of splitCases(open, known)) {
      const found = search(next)
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** What a rule that may apply depends on. */
interface Dependency extends Pick<Step, 'match'> {
  readonly effect: 'allow' | 'deny'
  readonly condition: string | undefined
}

function describeStep({ rule: { effect }, match, condition }: Step, { textOf }: Side): Dependency {
  return { effect, match, condition: condition && textOf(condition) }
}

/** Equal for equivalent rules. */
function dependencyKey(rules: readonly Dependency[]): string {
  return [...new Set(rules.map((rule) => JSON.stringify(rule)))].toSorted().join('\n')
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
