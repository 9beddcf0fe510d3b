import type { GivenAnswers } from './compiled-rule.ts'
import type { Condition } from './condition.ts'
import { FactWithoutValue } from './fact.ts'
import type { PlacedRule } from './grants-beneath.ts'
import type { Inquiry } from './question.ts'
import type { NumberedCaller } from './subject-numbers.ts'

/** What conditions say before any object is known, and a text that is the same where they say the same to one caller. */
export interface Given {
  readonly answers: GivenAnswers
  readonly key: string
}

/** Asks the conditions of rules that concern the caller, once instead of for every object. */
export type AskBeforehand = (inquiry: Inquiry, caller: NumberedCaller) => Given

/** So many conditions are asked whether or not an object will depend on them; others where one does. */
const maximumAsked = 32

/** Knows the conditions of those rules. */
export function conditionsBeforehand(rules: readonly PlacedRule[]): AskBeforehand {
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
      const all = new Set([...caller.numbers].flatMap((number) => [...(bySubject.get(number) ?? [])]))
      ofCallers.set(caller, (conditions = [...all].slice(0, maximumAsked)))
    }
    return conditions
  }

  return (inquiry, caller) => {
    const answers = new Map<Condition, boolean | 'pending'>()
    let key = ''
    for (const condition of conditionsOf(caller)) {
      const answer = answerOf(condition, inquiry)
      if (answer !== undefined) answers.set(condition, answer)
      key += answer === undefined ? '?' : answer === 'pending' ? 'p' : Number(answer)
    }
    return { answers, key }
  }
}

/** Undefined if it fails: the rule that asks it again reports that. */
function answerOf(condition: Condition, inquiry: Inquiry): boolean | 'pending' | undefined {
  try {
    return condition.holds(inquiry)
  } catch (error) {
    return error instanceof FactWithoutValue && error.isPending ? 'pending' : undefined
  }
}
