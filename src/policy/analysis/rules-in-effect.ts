import type { Permission } from '../../catalog-api/permissions.ts'
import { outcomeApplies } from '../engine/evaluation.ts'
import type { Step } from '../engine/evaluate.ts'
import type { ObjectPosition } from '../engine/object-position.ts'
import { anyCaller } from '../engine/subject.ts'
import type { PolicySet, Question } from '../policy-set.ts'

/** Returns what becomes of the rules about a question, from the root down; rules of one namespace keep their order. */
export function listSteps(set: PolicySet, question: Question): readonly Step[] {
  const steps: Step[] = []
  set.evaluate(question, (step) => steps.push(step))
  return steps.toSorted((one, other) => one.document.namespace.length - other.document.namespace.length)
}

/** Returns those that apply or may apply. */
export function listPossibleRules(set: PolicySet, question: Question): readonly Step[] {
  return listSteps(set, question).filter(
    ({ rule, outcome }) => outcome === 'open' || outcomeApplies(rule, outcome),
  )
}

/** Returns the rules that may decide for some caller. Of conditions, those are decided that the tags of the object decide. */
export function rulesInEffect(
  set: PolicySet,
  position: ObjectPosition,
  permission: Permission,
): readonly Step[] {
  return listPossibleRules(set, { permission, position, caller: anyCaller })
}
