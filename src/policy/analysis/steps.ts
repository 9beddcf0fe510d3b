import type { Identifier } from '../../catalog-api/identifiers.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import { createRuleReference } from '../engine/compiled-rule.ts'
import { outcomeApplies } from '../engine/evaluation.ts'
import type { RestrictionStep, Step } from '../engine/evaluate.ts'
import { namespaceKey, objectPosition } from '../engine/object-position.ts'
import { knownFromPrincipal } from '../engine/subject.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import type { PolicySet, Question } from '../policy-set.ts'

/** Returns the namespaces that have policies in one of the sets, by key. */
export function listNamespaces(...sets: readonly PolicySet[]): ReadonlyMap<string, Identifier> {
  const documents = sets.flatMap((set) => set.documents)
  return new Map(documents.map(({ namespace }) => [namespaceKey(namespace), namespace]))
}

/** Returns the policies of the namespace itself. */
export function listOwnDocuments(set: PolicySet, namespace: Identifier): readonly PolicyDocument[] {
  return set.documentsAbove(namespace).filter((one) => one.namespace.length === namespace.length)
}

/** What becomes of the rules about a question, from the root down; rules of one namespace keep their order. */
interface Steps {
  readonly rules: readonly Step[]
  /** Those of the rules that apply or may apply. */
  readonly possible: readonly Step[]
  /** Of the table of the question, for the callers that it may be about. */
  readonly restrictions: readonly RestrictionStep[]
}

export function listSteps(set: PolicySet, question: Question): Steps {
  const found: (Step | RestrictionStep)[] = []
  set.evaluate(question, (step) => found.push(step))
  const steps = found.toSorted(
    (one, other) => one.document.namespace.length - other.document.namespace.length,
  )
  const rules = steps.filter((step) => step.outcome !== 'restricts')
  return {
    rules,
    possible: rules.filter(({ rule, outcome }) => outcome === 'open' || outcomeApplies(rule, outcome)),
    restrictions: steps.filter((step) => step.outcome === 'restricts'),
  }
}

/** A namespace with policies, from the root to the object. */
export interface ExplainedLevel {
  readonly namespace: Identifier
  /** Whether it does not inherit allows from above. */
  readonly stopsInheritance: boolean
  /** Whether it reserves the permission (`final`). */
  readonly reservesPermission: boolean
  readonly rules: readonly Step[]
  readonly otherRuleCount: number
}

/** Returns what becomes of each rule about the request, by the namespaces of their policies. */
export function explainDecision(set: PolicySet, request: AuthorizationRequest): readonly ExplainedLevel[] {
  const { permission, kind, id, principal } = request
  const position = objectPosition(kind, id)
  const { rules } = listSteps(set, {
    permission,
    position,
    caller: knownFromPrincipal(principal),
    input: request,
  })
  const levels = groupBy(set.documentsAbove(position.namespace), ({ namespace }) => namespaceKey(namespace))
  return [...levels.values()].map((documents: readonly PolicyDocument[]) => {
    const own = rules.filter(({ document }) => documents.includes(document))
    return {
      namespace: documents[0]?.namespace ?? [],
      stopsInheritance: documents.some(({ inherit }) => !inherit),
      reservesPermission: documents.some(({ final }) => final.has(permission)),
      rules: own,
      otherRuleCount: documents.reduce((sum, { rules }) => sum + rules.length, 0) - own.length,
    }
  })
}

/** Describes what becomes of a rule for JSON; the verdict on one that applies is its effect. */
export function describeStep(step: Step) {
  const { outcome } = step
  const { effect } = step.rule
  const verdict = outcome === 'applies' ? (effect === 'deny' ? 'denies' : 'allows') : outcome
  return { ...createRuleReference(step), effect, verdict } as const
}
