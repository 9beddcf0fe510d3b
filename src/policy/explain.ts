import { reasonOf } from './condition.ts'
import type { Identifier } from '../interface/identifiers.ts'
import { grouped } from './grouped.ts'
import type { PolicyDocument } from './policy-document.ts'
import type { Question } from './question.ts'
import {
  documentsAbove,
  indexDocuments,
  keyOf,
  positionOf,
  rulesReaching,
  type Obstacle,
  type ReachingRule,
} from './rule-reach.ts'
import { concernOf, knownOf } from './subject-logic.ts'

/**
 * What a rule comes to. `denies`, `allows`: it applies. `other-caller`: it does not concern the caller. `false`: its
 * condition does not hold. `failed`: its condition could not be told, which makes a deny apply and an allow not.
 */
type Verdict = Obstacle | 'denies' | 'allows' | 'other-caller' | 'false' | 'failed'

/** A rule about what is asked, and what it comes to. */
export interface ExplainedRule extends ReachingRule {
  readonly verdict: Verdict
  /** Why the condition could not be told. */
  readonly reason: string | undefined
}

/** A namespace on the way from the root to the object that policies speak of. */
export interface ExplainedLevel {
  readonly namespace: Identifier
  readonly documents: readonly PolicyDocument[]
  /** Whether it takes no allows from above. */
  readonly isBoundary: boolean
  /** Whether it reserves the permission. */
  readonly isReserving: boolean
  readonly rules: readonly ExplainedRule[]
  /** How many rules are about other operations. */
  readonly others: number
}

/** The way of a decision, from the root down. */
export function explainDecision(
  documents: readonly PolicyDocument[],
  question: Question,
): readonly ExplainedLevel[] {
  const index = indexDocuments(documents)
  const position = positionOf(question.kind, question.id)
  const rules = rulesReaching(index, position, question.permission)
  const levels = grouped(documentsAbove(index, position.namespace), ({ namespace }) => keyOf(namespace))
  return [...levels.values()].map((documents) => {
    const here = rules.filter(({ document }) => documents.includes(document))
    return {
      namespace: documents[0]?.namespace ?? [],
      documents,
      isBoundary: documents.some(({ inherit }) => !inherit),
      isReserving: documents.some(({ final }) => final.has(question.permission)),
      rules: here.map((rule) => explainRule(rule, question)),
      others: documents.reduce((sum, { rules }) => sum + rules.length, 0) - here.length,
    }
  })
}

/** Whether a rule with that verdict applies. */
export function applies({ rule, verdict }: ExplainedRule): boolean {
  return verdict === 'allows' || verdict === 'denies' || (verdict === 'failed' && rule.effect === 'deny')
}

function explainRule(reaching: ReachingRule, question: Question): ExplainedRule {
  const { effect, subjects, condition } = reaching.rule
  const explained = (verdict: Verdict, reason?: string): ExplainedRule => ({ ...reaching, verdict, reason })
  if (concernOf(subjects, knownOf(question.principal)) !== true) return explained('other-caller')
  if (reaching.obstacle !== undefined) return explained(reaching.obstacle)
  try {
    if (condition?.holds(question) === false) return explained('false')
  } catch (error) {
    return explained('failed', reasonOf(error))
  }
  return explained(effect === 'allow' ? 'allows' : 'denies')
}
