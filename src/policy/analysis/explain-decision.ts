import type { Identifier } from '../../catalog-api/identifiers.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { Step } from '../engine/evaluate.ts'
import { namespaceKey, objectPosition } from '../engine/object-position.ts'
import { knownFromPrincipal } from '../engine/subject.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import type { PolicySet } from '../policy-set.ts'
import { listSteps } from './rules-in-effect.ts'

/** A namespace with policies, from the root to the object. */
export interface ExplainedLevel {
  readonly namespace: Identifier
  readonly documents: readonly PolicyDocument[]
  /** Whether it does not inherit allows from above. */
  readonly stopsInheritance: boolean
  /** Whether it reserves the permission (`final`). */
  readonly reservesPermission: boolean
  readonly rules: readonly Step[]
  readonly otherRuleCount: number
}

export function explainDecision(set: PolicySet, request: AuthorizationRequest): readonly ExplainedLevel[] {
  const { permission, kind, id, principal } = request
  const position = objectPosition(kind, id)
  const steps = listSteps(set, {
    permission,
    position,
    caller: knownFromPrincipal(principal),
    input: request,
  })
  const levels = groupBy(set.documentsAbove(position.namespace), ({ namespace }) => namespaceKey(namespace))
  return [...levels.values()].map((documents) => {
    const rules = steps.filter(({ document }) => documents.includes(document))
    return {
      namespace: documents[0]?.namespace ?? [],
      documents,
      stopsInheritance: documents.some(({ inherit }) => !inherit),
      reservesPermission: documents.some(({ final }) => final.has(permission)),
      rules,
      otherRuleCount: documents.reduce((sum, { rules }) => sum + rules.length, 0) - rules.length,
    }
  })
}

/** The outcome of a rule for reports: of one that applies, its effect. */
export function describeVerdict({
  rule,
  outcome,
}: Step): Exclude<Step['outcome'], 'applies'> | 'allows' | 'denies' {
  if (outcome !== 'applies') return outcome
  return rule.effect === 'deny' ? 'denies' : 'allows'
}
