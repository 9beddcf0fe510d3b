import type { NamedSubjects } from '../language/policy-document.ts'
import { mostSpecific, type ReachingRule } from './reaching-rules.ts'
import { matchSubjects, type SubjectMatch, type KnownCaller } from './subject.ts'

/** What a condition comes to: one that cannot be told (`failed`) makes a deny apply and an allow not. */
export type ConditionResult = 'true' | 'false' | 'failed'

/** What is known of a question besides its operation and its object: the caller, and conditions by their text. */
export interface KnownInputs {
  readonly caller: KnownCaller
  readonly conditions: ReadonlyMap<string, ConditionResult>
}

/** An answer, and the rule that makes it. */
export interface RuleDecision {
  readonly allowed: boolean
  readonly decidingRule: ReachingRule | undefined
}

/** What of a rule is open. */
export interface UndecidedRule {
  readonly reaching: ReachingRule
  readonly match: SubjectMatch
  readonly condition: string | undefined
}

/** An answer, or the rules on which it still depends. */
export type PartialDecision = RuleDecision | { readonly undecided: readonly UndecidedRule[] }

/** A case in which two sets of rules answer differently: all that must be known for it, and both answers. */
export interface DecisionDifference {
  readonly known: KnownInputs
  readonly before: RuleDecision
  readonly after: RuleDecision
}

/** How many cases are told apart before the search gives up. */
const maxCases = 50_000

/**
 * A case in which the rules allowed before and deny after (`loses`), or the other way round (`gains`); undefined
 * where there is none. The rules are those that no obstacle keeps from deciding. It tells cases apart by one name,
 * group or condition at a time, until both answers are certain or depend on the same rules in the same way: so it
 * misses nothing, whoever calls and whatever conditions come to. Throws RangeError where there are too many cases.
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

/** What the rules answer, as far as what is known tells. */
export function evaluatePartially(rules: readonly ReachingRule[], known: KnownInputs): PartialDecision {
  const seen = rules.flatMap((by) => {
    const rule = evaluateRule(by, known)
    return rule === undefined ? [] : [rule]
  })
  const applying = seen.filter(({ match, condition }) => match === true && condition === undefined)
  const denying = rulesWithEffect(applying, 'deny')
  if (denying.length > 0) return { allowed: false, decidingRule: decidingRuleOf(denying) }
  if (rulesWithEffect(seen, 'allow').length === 0) return { allowed: false, decidingRule: undefined }
  const allowing = rulesWithEffect(applying, 'allow')
  if (allowing.length > 0 && rulesWithEffect(seen, 'deny').length === 0)
    return { allowed: true, decidingRule: decidingRuleOf(allowing) }
  return { undecided: seen }
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

/** Undefined where it certainly does not apply. */
function evaluateRule(
  reaching: ReachingRule,
  { caller, conditions }: KnownInputs,
): UndecidedRule | undefined {
  const match = matchSubjects(reaching.rule.subjects, caller)
  if (match === false) return undefined
  const text = reaching.rule.condition?.text
  const truth = text === undefined ? 'true' : conditions.get(text)
  if (truth === undefined) return { reaching, match, condition: text }
  const holds = truth === 'true' || (truth === 'failed' && reaching.rule.effect === 'deny')
  return holds ? { reaching, match, condition: undefined } : undefined
}

/** What rules depend on, in one text: the same for rules that say the same. */
function dependencyKey(rules: readonly UndecidedRule[]): string {
  const texts = rules.map(({ reaching, match, condition }) =>
    JSON.stringify([reaching.rule.effect, match, condition]),
  )
  return [...new Set(texts)].toSorted().join('\n')
}

/** The cases that differ in the first thing on which the rules depend; together they are all cases. */
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
  // The empty name is nobody's: it stands for every caller and every key that no rule names.
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
  const truths: readonly ConditionResult[] = ['true', 'false', 'failed']
  return truths.map((truth) => ({ caller, conditions: new Map([...conditions, [text, truth]]) }))
}
