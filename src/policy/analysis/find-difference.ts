import type { NamedSubjects } from '../language/policy-document.ts'
import { mostSpecific, type ReachingRule } from './reaching-rules.ts'
import { matchSubjects, type SubjectMatch, type KnownCaller } from './subject.ts'

/** Result of a condition. `failed` makes a deny apply and an allow not. */
export type ConditionResult = 'true' | 'false' | 'failed'

/** Known inputs besides permission and object: the caller, and results of conditions by their text. */
export interface KnownInputs {
  readonly caller: KnownCaller
  readonly conditions: ReadonlyMap<string, ConditionResult>
}

export interface RuleDecision {
  readonly allowed: boolean
  readonly decidingRule: ReachingRule | undefined
}

/** A rule that may apply, with the subjects and the condition that are still undecided. */
export interface UndecidedRule {
  readonly reaching: ReachingRule
  readonly match: SubjectMatch
  readonly condition: string | undefined
}

export type PartialDecision = RuleDecision | { readonly undecided: readonly UndecidedRule[] }

/** Inputs for which two rule sets decide differently, with both decisions. */
export interface DecisionDifference {
  readonly known: KnownInputs
  readonly before: RuleDecision
  readonly after: RuleDecision
}

const maxCases = 50_000

/**
 * Searches for inputs that the rules allowed before and deny after (`loses`), or the reverse (`gains`); returns
 * undefined if there are none. The rules must not have obstacles. The search splits cases by one name, group or
 * condition at a time until both decisions are certain or depend on equal rules in the same way, so it is complete for
 * all callers and results of conditions. Throws RangeError if there are too many cases.
 */
export function findDifference(
  before: readonly ReachingRule[],
  after: readonly ReachingRule[],
  start: KnownInputs,
  direction: 'gains' | 'loses',
): DecisionDifference | undefined {
  let cases = 0
  return search(start)

  function search(known: KnownInputs): DecisionDifference | undefined {
    if (++cases > maxCases) throw new RangeError('too many rules for one object to analyze all callers')
    const one = evaluatePartially(before, known)
    const other = evaluatePartially(after, known)
    if (!('undecided' in one) && one.allowed !== (direction === 'loses')) return undefined
    if (!('undecided' in other) && other.allowed !== (direction === 'gains')) return undefined
    if (!('undecided' in one) && !('undecided' in other)) return { known, before: one, after: other }
    if (
      'undecided' in one &&
      'undecided' in other &&
      dependencyKey(one.undecided) === dependencyKey(other.undecided)
    )
      return undefined
    for (const next of splitCases(
      ['undecided' in one ? one.undecided : [], 'undecided' in other ? other.undecided : []].flat(),
      known,
    )) {
      const found = search(next)
      if (found !== undefined) return found
    }
    return undefined
  }
}

export function evaluatePartially(rules: readonly ReachingRule[], known: KnownInputs): PartialDecision {
  const possible = rules.flatMap((reaching) => {
    const rule = evaluateRule(reaching, known)
    return rule === undefined ? [] : [rule]
  })
  const applying = possible.filter(({ match, condition }) => match === true && condition === undefined)
  const denying = rulesWithEffect(applying, 'deny')
  if (denying.length > 0) return { allowed: false, decidingRule: decidingRuleOf(denying) }
  if (rulesWithEffect(possible, 'allow').length === 0) return { allowed: false, decidingRule: undefined }
  const allowing = rulesWithEffect(applying, 'allow')
  if (allowing.length > 0 && rulesWithEffect(possible, 'deny').length === 0)
    return { allowed: true, decidingRule: decidingRuleOf(allowing) }
  return { undecided: possible }
}

function decidingRuleOf(rules: readonly UndecidedRule[]): ReachingRule | undefined {
  return mostSpecific(rules.map(({ reaching }) => reaching))
}

function rulesWithEffect(
  rules: readonly UndecidedRule[],
  effect: 'allow' | 'deny',
): readonly UndecidedRule[] {
  return rules.filter(({ reaching }) => reaching.rule.effect === effect)
}

function evaluateRule(
  reaching: ReachingRule,
  { caller, conditions }: KnownInputs,
): UndecidedRule | undefined {
  const match = matchSubjects(reaching.rule.subjects, caller)
  if (match === false) return undefined
  const text = reaching.rule.condition?.text
  const result = text === undefined ? 'true' : conditions.get(text)
  if (result === undefined) return { reaching, match, condition: text }
  const holds = result === 'true' || (result === 'failed' && reaching.rule.effect === 'deny')
  return holds ? { reaching, match, condition: undefined } : undefined
}

/** Serializes what the rules depend on; equal for equivalent rules. */
function dependencyKey(rules: readonly UndecidedRule[]): string {
  const texts = rules.map(({ reaching, match, condition }) =>
    JSON.stringify([reaching.rule.effect, match, condition]),
  )
  return [...new Set(texts)].toSorted().join('\n')
}

/** Splits by the first input on which the rules depend. The cases are exhaustive. */
function splitCases(
  rules: readonly UndecidedRule[],
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
