import type { Permission } from '../../catalog-api/index.ts'
import { getEvaluator, type Evaluate } from '../conditions/condition.ts'
import { createNameMatcher, type NameMatcher } from '../conditions/name-pattern.ts'
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

export class CompiledRule implements LocatedRule {
  readonly document: PolicyDocument
  readonly rule: PolicyRule
  /** Position among all rules, by file and then from top to bottom. */
  readonly order: number
  readonly effect: 'allow' | 'deny'
  readonly permissions: ReadonlySet<Permission>
  /** Numbers of subjects and of excepted subjects. */
  readonly subjects: readonly number[]
  readonly except: readonly number[]
  /** Undefined if the rule covers the namespace itself and everything beneath it. */
  readonly tables: readonly NameMatcher[] | undefined
  readonly condition: PolicyRule['condition']
  readonly evaluate: Evaluate | undefined
  /** Decision if this rule decides. */
  readonly decision: Decision
  readonly #onConditionFailure: ReportConditionFailure

  constructor(located: LocatedRule, order: number, { subjects, revision, onConditionFailure }: RuleContext) {
    const { document, rule } = located
    this.document = document
    this.rule = rule
    this.order = order
    this.effect = rule.effect
    this.permissions = rule.permissions
    this.subjects = subjects.assign(rule.subjects)
    this.except = subjects.assign(rule.subjects.except ?? noNames)
    this.tables = rule.tables?.map(createNameMatcher)
    this.condition = rule.condition
    this.evaluate = rule.condition && getEvaluator(rule.condition)
    this.decision = createDecision(located, revision)
    this.#onConditionFailure = onConditionFailure
  }

  reportFailure(error: unknown): void {
    this.#onConditionFailure(createRuleReference(this), this.effect, error)
  }
}

function createDecision(located: LocatedRule, revision: string): Decision {
  const { effect, message } = located.rule
  const rule = Object.freeze(createRuleReference(located))
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
