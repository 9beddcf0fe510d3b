import type { KnownConditions } from '../engine/compiled-rule.ts'
import type { Condition } from '../conditions/condition.ts'
import { MissingFactError } from '../conditions/fact.ts'
import type { RuleAtNode } from './grants-beneath.ts'
import type { ConditionInput } from '../conditions/authorization-request.ts'
import type { NumberedCaller } from '../engine/subject-numbers.ts'

/** What conditions say before any object is known, and a text that is the same where they say the same to one caller. */
export interface PrecomputedConditions {
  readonly results: KnownConditions
  readonly key: string
}

/** Asks the conditions of rules that concern the caller, once instead of for every object. */
export type PrecomputeConditions = (inquiry: ConditionInput, caller: NumberedCaller) => PrecomputedConditions

/** So many conditions are asked whether or not an object will depend on them; others where one does. */
const maxPrecomputed = 32

/** Knows the conditions of those rules. */
export function createConditionPrecomputer(rules: readonly RuleAtNode[]): PrecomputeConditions {
  const bySubject = new Map<number, Set<Condition>>()
  for (const { rule } of rules) {
    const { condition } = rule
    if (condition === undefined || condition.readsId) continue
    for (const subject of rule.subjects) {
      const conditions = bySubject.get(subject)
      if (conditions === undefined) bySubject.set(subject, new Set([condition]))
      else conditions.add(condition)
    }
  }
  const ofCallers = new WeakMap<NumberedCaller, readonly Condition[]>()

  /** In the same order for all callers of the same numbers. */
  function conditionsOf(caller: NumberedCaller): readonly Condition[] {
    let conditions = ofCallers.get(caller)
    if (conditions === undefined) {
      const all = new Set([...caller.subjects].flatMap((number) => [...(bySubject.get(number) ?? [])]))
      ofCallers.set(caller, (conditions = [...all].slice(0, maxPrecomputed)))
    }
    return conditions
  }

  return (inquiry, caller) => {
    const results = new Map<Condition, boolean | 'pending'>()
    let key = ''
    for (const condition of conditionsOf(caller)) {
      const response = evaluateCondition(condition, inquiry)
      if (response !== undefined) results.set(condition, response)
      key += response === undefined ? '?' : response === 'pending' ? 'p' : Number(response)
    }
    return { results, key }
  }
}

/** Undefined if it fails: the rule that asks it again reports that. */
function evaluateCondition(condition: Condition, inquiry: ConditionInput): boolean | 'pending' | undefined {
  try {
    return condition.evaluate(inquiry)
  } catch (error) {
    return error instanceof MissingFactError && error.isPending ? 'pending' : undefined
  }
}
