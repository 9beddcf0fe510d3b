import { describeConditionError } from '../conditions/condition-errors.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { PolicyDocument } from '../language/policy-document.ts'
import type { AuthorizationRequest, ConditionInput } from '../conditions/authorization-request.ts'
import {
  documentsAbove,
  indexDocuments,
  namespaceKey,
  objectPosition,
  rulesReaching,
  type Obstacle,
  type ReachingRule,
} from './reaching-rules.ts'
import { findTags } from './find-tags.ts'
import { matchSubjects, knownFromPrincipal } from './subject.ts'

/**
 * Outcome of a rule. `denies`, `allows`: it applies. `other-caller`: it does not name the caller. `false`: its
 * condition is false. `failed`: its condition failed, so a deny applies and an allow does not.
 */
type RuleVerdict = Obstacle | 'denies' | 'allows' | 'other-caller' | 'false' | 'failed'

/** A rule that covers the request, with its outcome. */
export interface ExplainedRule extends ReachingRule {
  readonly verdict: RuleVerdict
  /** Why the condition failed. */
  readonly conditionError: string | undefined
}

export interface ExplainedLevel {
  readonly namespace: Identifier
  readonly documents: readonly PolicyDocument[]
  /** Whether it does not inherit allows from above. */
  readonly stopsInheritance: boolean
  /** Whether it reserves the permission (`final`). */
  readonly reservesPermission: boolean
  readonly rules: readonly ExplainedRule[]
  readonly otherRuleCount: number
}

export function explainDecision(
  documents: readonly PolicyDocument[],
  request: AuthorizationRequest,
): readonly ExplainedLevel[] {
  const index = indexDocuments(documents)
  const position = objectPosition(request.kind, request.id)
  const rules = rulesReaching(index, position, request.permission)
  const tags = findTags(index, position)
  const levels = groupBy(documentsAbove(index, position.namespace), ({ namespace }) =>
    namespaceKey(namespace),
  )
  return [...levels.values()].map((documents) => {
    const rulesOfLevel = rules.filter(({ document }) => documents.includes(document))
    return {
      namespace: documents[0]?.namespace ?? [],
      documents,
      stopsInheritance: documents.some(({ inherit }) => !inherit),
      reservesPermission: documents.some(({ final }) => final.has(request.permission)),
      rules: rulesOfLevel.map((rule) => explainRule(rule, { ...request, tags })),
      otherRuleCount: documents.reduce((sum, { rules }) => sum + rules.length, 0) - rulesOfLevel.length,
    }
  })
}

export function verdictApplies({ rule, verdict }: ExplainedRule): boolean {
  return verdict === 'allows' || verdict === 'denies' || (verdict === 'failed' && rule.effect === 'deny')
}

function explainRule(reaching: ReachingRule, request: ConditionInput): ExplainedRule {
  const { effect, subjects, condition } = reaching.rule
  const explained = (verdict: RuleVerdict, conditionError?: string): ExplainedRule => ({
    ...reaching,
    verdict,
    conditionError,
  })
  if (matchSubjects(subjects, knownFromPrincipal(request.principal)) !== true)
    return explained('other-caller')
  if (reaching.obstacle !== undefined) return explained(reaching.obstacle)
  try {
    if (condition?.evaluate(request) === false) return explained('false')
  } catch (error) {
    return explained('failed', describeConditionError(error))
  }
  return explained(effect === 'allow' ? 'allows' : 'denies')
}
