import type { NamedSubjects } from './policy-document.ts'
import { mostSpecific, type ReachingRule } from './rule-reach.ts'
import { concernOf, type Concern, type KnownCaller } from './subject-logic.ts'

/** What a condition comes to: one that cannot be told (`failed`) makes a deny apply and an allow not. */
export type Truth = 'true' | 'false' | 'failed'

/** What is known of a question besides its operation and its object: the caller, and conditions by their text. */
export interface Known {
  readonly caller: KnownCaller
  readonly conditions: ReadonlyMap<string, Truth>
}

/** An answer, and the rule that makes it. */
export interface Answer {
  readonly allowed: boolean
  readonly by: ReachingRule | undefined
}

/** What of a rule is open. */
export interface OpenRule {
  readonly by: ReachingRule
  readonly concern: Concern
  readonly condition: string | undefined
}

/** An answer, or the rules on which it still depends. */
export type Reduced = Answer | { readonly open: readonly OpenRule[] }

/** A case in which two sets of rules answer differently: all that must be known for it, and both answers. */
export interface Difference {
  readonly known: Known
  readonly before: Answer
  readonly after: Answer
}

/** How many cases are told apart before the search gives up. */
const maximumCases = 50_000

/**
 * A case in which the rules allowed before and deny after (`loses`), or the other way round (`gains`); undefined
 * where there is none. The rules are those that no obstacle keeps from deciding. It tells cases apart by one name,
 * group or condition at a time, until both answers are certain or depend on the same rules in the same way: so it
 * misses nothing, whoever calls and whatever conditions come to. Throws RangeError where there are too many cases.
 */
export function findDifference(
  before: readonly ReachingRule[],
  after: readonly ReachingRule[],
  start: Known,
  direction: 'gains' | 'loses',
): Difference | undefined {
  let cases = 0
  return search(start)

  function search(known: Known): Difference | undefined {
    if (++cases > maximumCases) throw new RangeError('too many rules for one object to analyze all callers')
    const one = reduce(before, known)
    const other = reduce(after, known)
    if (!('open' in one) && one.allowed !== (direction === 'loses')) return undefined
    if (!('open' in other) && other.allowed !== (direction === 'gains')) return undefined
    if (!('open' in one) && !('open' in other)) return { known, before: one, after: other }
    if ('open' in one && 'open' in other && textOf(one.open) === textOf(other.open)) return undefined
    for (const next of branches(
      ['open' in one ? one.open : [], 'open' in other ? other.open : []].flat(),
      known,
    )) {
      const found = search(next)
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** What the rules answer, as far as what is known tells. */
export function reduce(rules: readonly ReachingRule[], known: Known): Reduced {
  const seen = rules.flatMap((by) => {
    const rule = openRule(by, known)
    return rule === undefined ? [] : [rule]
  })
  const applying = seen.filter(({ concern, condition }) => concern === true && condition === undefined)
  const denying = ofEffect(applying, 'deny')
  if (denying.length > 0) return { allowed: false, by: nameable(denying) }
  if (ofEffect(seen, 'allow').length === 0) return { allowed: false, by: undefined }
  const allowing = ofEffect(applying, 'allow')
  if (allowing.length > 0 && ofEffect(seen, 'deny').length === 0)
    return { allowed: true, by: nameable(allowing) }
  return { open: seen }
}

function nameable(rules: readonly OpenRule[]): ReachingRule | undefined {
  return mostSpecific(rules.map(({ by }) => by))
}

function ofEffect(rules: readonly OpenRule[], effect: 'allow' | 'deny'): readonly OpenRule[] {
  return rules.filter(({ by }) => by.rule.effect === effect)
}

/** Undefined where it certainly does not apply. */
function openRule(by: ReachingRule, { caller, conditions }: Known): OpenRule | undefined {
  const concern = concernOf(by.rule.subjects, caller)
  if (concern === false) return undefined
  const text = by.rule.condition?.text
  const truth = text === undefined ? 'true' : conditions.get(text)
  if (truth === undefined) return { by, concern, condition: text }
  const holds = truth === 'true' || (truth === 'failed' && by.rule.effect === 'deny')
  return holds ? { by, concern, condition: undefined } : undefined
}

/** What rules depend on, in one text: the same for rules that say the same. */
function textOf(rules: readonly OpenRule[]): string {
  const texts = rules.map(({ by, concern, condition }) =>
    JSON.stringify([by.rule.effect, concern, condition]),
  )
  return [...new Set(texts)].toSorted().join('\n')
}

/** The cases that differ in the first thing on which the rules depend; together they are all cases. */
function branches(rules: readonly OpenRule[], { caller, conditions }: Known): readonly Known[] {
  const names = rules.flatMap(({ concern }) =>
    typeof concern === 'boolean' ? [] : [concern, ...(concern.except ? [concern.except] : [])],
  )
  const all = (kind: keyof NamedSubjects): readonly string[] => [
    ...new Set(names.flatMap((list) => list[kind])),
  ]
  const [users, keys, [group]] = [all('users'), all('keys'), all('groups')]
  // The empty name is nobody's: it stands for every caller and every key that no rule names.
  if (users.length > 0) return ['', ...users].map((user) => ({ caller: { ...caller, user }, conditions }))
  if (keys.length > 0) return ['', ...keys].map((key) => ({ caller: { ...caller, key }, conditions }))
  if (group !== undefined) {
    const { groups, others } = caller
    const without = others === 'all' ? others : new Set([...others, group])
    return [
      { caller: { ...caller, others: without }, conditions },
      { caller: { ...caller, groups: new Set([...groups, group]) }, conditions },
    ]
  }
  const text = rules.find(({ condition }) => condition !== undefined)?.condition ?? ''
  const truths: readonly Truth[] = ['true', 'false', 'failed']
  return truths.map((truth) => ({ caller, conditions: new Map([...conditions, [text, truth]]) }))
}
