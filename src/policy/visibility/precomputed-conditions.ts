import type { ConditionResult, KnownConditions } from '../engine/evaluation.ts'
import type { Condition } from '../conditions/condition.ts'
import { MissingFactError } from '../conditions/fact.ts'
import type { RuleAtNode } from './grants-beneath.ts'
import type { ConditionInput } from '../conditions/authorization-request.ts'
import type { NumberedCaller } from '../engine/subject-numbers.ts'

/** Results of conditions that do not depend on the object. `key` is equal for equal results of one caller. */
export interface PrecomputedConditions {
  readonly results: KnownConditions
  readonly key: string
}

/** Evaluates the conditions of rules that name the caller, once per request instead of once per object. */
export type PrecomputeConditions = (input: ConditionInput, caller: NumberedCaller) => PrecomputedConditions

/** At most this many conditions are evaluated in advance, needed or not; any others are evaluated on demand. */
const maxPrecomputed = 32

export function createConditionPrecomputer(rules: readonly RuleAtNode[]): PrecomputeConditions {
  const bySubject = new Map<number, Set<Condition>>()
  for (const { rule } of rules) {
    const { condition } = rule
    if (condition === undefined || condition.readsId || condition.tags.length > 0) continue
    for (const subject of rule.subjects) {
      const conditions = bySubject.get(subject)
      if (conditions === undefined) bySubject.set(subject, new Set([condition]))
      else conditions.add(condition)
    }
  }
  const byCaller = new WeakMap<NumberedCaller, readonly Condition[]>()

  /** The order is the same for all callers with equal numbers, so that keys are comparable. */
  function conditionsOf(caller: NumberedCaller): readonly Condition[] {
    let conditions = byCaller.get(caller)
    if (conditions === undefined) {
      const all = new Set([...caller.subjects].flatMap((number) => [...(bySubject.get(number) ?? [])]))
      byCaller.set(caller, (conditions = [...all].slice(0, maxPrecomputed)))
    }
    return conditions
  }

  return (input, caller) => {
    const results = new Map<Condition, ConditionResult>()
    let key = ''
    for (const condition of conditionsOf(caller)) {
      const result = evaluateCondition(condition, input)
      if (result !== undefined) results.set(condition, result)
      key += result?.charAt(0) ?? '?'
    }
    return { results, key }
  }
}

/** Returns undefined if the condition fails: the rule evaluates it again and reports the failure. */
function evaluateCondition(condition: Condition, input: ConditionInput): ConditionResult | undefined {
  try {
    return condition.evaluate(input) ? 'true' : 'false'
  } catch (error) {
    return error instanceof MissingFactError && error.isPending ? 'open' : undefined
  }
}
