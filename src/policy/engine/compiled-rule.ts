import { getEvaluator } from '../conditions/condition.ts'
import { createNameMatcher } from '../conditions/name-pattern.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import type { Decision, RuleReference } from './decision.ts'
import { noNames, type SubjectNumbers } from './subject.ts'

/** Called when a condition failed: an allow did not apply, or a deny applied. */
export type ReportConditionFailure = (rule: RuleReference, effect: 'allow' | 'deny', error: unknown) => void

interface RuleContext {
  readonly subjects: SubjectNumbers
  readonly revision: string
  readonly onConditionFailure: ReportConditionFailure
}

/** A rule, prepared for decisions. */
export type CompiledRule = ReturnType<typeof compileRule>

/** `order` is the position among all rules, by file and then from top to bottom. */
export function compileRule(
  { document, rule }: LocatedRule,
  order: number,
  { subjects, revision, onConditionFailure }: RuleContext,
) {
  const { effect, permissions, condition } = rule
  const reference = createRuleReference({ document, rule })
  return {
    document,
    rule,
    order,
    effect,
    permissions,
    condition,
    /** Numbers of subjects and of excepted subjects. */
    subjects: subjects.assign(rule.subjects),
    except: subjects.assign(rule.subjects.except ?? noNames),
    /** Undefined if the rule covers the namespace itself and everything beneath it. */
    tables: rule.tables?.map(createNameMatcher),
    evaluate: condition && getEvaluator(condition),
    /** Decision if this rule decides. */
    decision: createDecision(rule, reference, revision),
    reportFailure: (error: unknown) => onConditionFailure(reference, effect, error),
  }
}

function createDecision({ effect, message }: PolicyRule, rule: RuleReference, revision: string): Decision {
  Object.freeze(rule)
  if (effect === 'allow') return Object.freeze({ allowed: true, rule, revision })
  const denial = { allowed: false, reason: 'denied', rule, revision } as const
  return Object.freeze(message === undefined ? denial : { ...denial, message })
}

/** A rule and the document that it is in. */
export interface LocatedRule {
  readonly document: PolicyDocument
  readonly rule: PolicyRule
}

export function createRuleReference({ document, rule }: LocatedRule): RuleReference {
  return {
    policy: document.name,
    rule: rule.id,
    file: document.file,
    line: rule.line,
    ...(rule.until !== undefined && { until: rule.until }),
  }
}
