import type { Permission } from '../../catalog-api/permissions.ts'
import { createNameMatcher, type NameMatcher } from '../conditions/name-pattern.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import type { Decision, RuleReference } from './decision.ts'
import type { SubjectNumbers } from './subject.ts'

/** Called when a condition failed: an allow did not apply, or a deny applied. */
export type ReportConditionFailure = (rule: RuleReference, effect: 'allow' | 'deny', error: unknown) => void

/** What the rules of one set share. */
export interface RuleContext {
  readonly subjects: SubjectNumbers
  readonly revision: string
  readonly onConditionFailure: ReportConditionFailure
}

const noSubjects: readonly number[] = []

/** A rule of a policy set. A class, because there are thousands. */
export class CompiledRule {
  readonly rule: PolicyRule
  readonly document: PolicyDocument
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
  readonly #context: RuleContext
  #decision: Decision | undefined

  constructor(context: RuleContext, rule: PolicyRule, document: PolicyDocument, order: number) {
    const { subjects } = rule
    this.rule = rule
    this.document = document
    this.order = order
    this.effect = rule.effect
    this.permissions = rule.permissions
    this.subjects = context.subjects.assign(subjects)
    this.except = subjects.except === undefined ? noSubjects : context.subjects.assign(subjects.except)
    this.tables = rule.tables?.map(createNameMatcher)
    this.condition = rule.condition
    this.#context = context
  }

  /** Decision if this rule decides. Created on first use. */
  get decision(): Decision {
    return (this.#decision ??= createDecision(this, this.#context.revision))
  }

  reportFailure(error: unknown): void {
    this.#context.onConditionFailure(createRuleReference(this), this.effect, error)
  }
}

function createDecision(decisive: CompiledRule, revision: string): Decision {
  const rule = Object.freeze(createRuleReference(decisive))
  if (decisive.effect === 'allow') return Object.freeze({ allowed: true, rule, revision })
  const { message } = decisive.rule
  return Object.freeze({
    allowed: false,
    reason: 'denied',
    rule,
    revision,
    ...(message !== undefined && { message }),
  })
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
