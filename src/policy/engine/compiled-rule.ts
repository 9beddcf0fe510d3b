import type { Permission } from '../../catalog-api/permissions.ts'
import { createNameMatcher, sampleName, type NameMatcher } from '../conditions/name-pattern.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import type { Decision, RuleReference } from './decision.ts'
import type { SubjectNumbers } from './subject-numbers.ts'

/** Called when a condition failed: an allow did not apply, or a deny applied. */
export type ReportConditionFailure = (rule: RuleReference, effect: 'allow' | 'deny', error: unknown) => void

/** What the rules of one set share. */
export interface RuleContext {
  readonly subjects: SubjectNumbers
  readonly revision: string
  readonly onConditionFailure: ReportConditionFailure
}

const noSubjects: readonly number[] = []

/** A rule of a policy set. A class, because there are thousands. Decisions are created on first use. */
export class CompiledRule {
  readonly rule: PolicyRule
  readonly document: PolicyDocument
  /** Position among all rules, by file and then from top to bottom. */
  readonly order: number
  readonly effect: 'allow' | 'deny'
  readonly permissions: ReadonlySet<Permission>
  /** Subjects and excepted subjects, as numbers of subject-numbers.ts. */
  readonly subjects: readonly number[]
  readonly except: readonly number[]
  /** Undefined if the rule covers the namespace itself and everything beneath it. */
  readonly tables: readonly NameMatcher[] | undefined
  /** For each of `tables`, a name that represents all its matches (name-pattern.ts). */
  readonly sampleNames: readonly string[] | undefined
  readonly condition: PolicyRule['condition']
  private cachedDecision: Decision | undefined
  private readonly context: RuleContext

  constructor(context: RuleContext, rule: PolicyRule, document: PolicyDocument, order: number) {
    const { effect, subjects, permissions, tables, condition } = rule
    this.rule = rule
    this.document = document
    this.order = order
    this.effect = effect
    this.permissions = permissions
    this.subjects = context.subjects.numbersOf(subjects)
    this.except = subjects.except === undefined ? noSubjects : context.subjects.numbersOf(subjects.except)
    this.tables = tables?.map(createNameMatcher)
    this.sampleNames = tables?.map(sampleName)
    this.condition = condition
    this.cachedDecision = undefined
    this.context = context
  }

  /** Decision if this rule decides. */
  get decision(): Decision {
    this.cachedDecision ??= this.createDecision()
    return this.cachedDecision
  }

  reportFailure(error: unknown): void {
    this.context.onConditionFailure(createRuleReference(this), this.effect, error)
  }

  private createDecision(): Decision {
    const rule = Object.freeze(createRuleReference(this))
    const { revision } = this.context
    const { message } = this.rule
    return Object.freeze(
      this.effect === 'allow'
        ? { allowed: true, rule, revision }
        : { allowed: false, reason: 'denied', rule, revision, ...(message !== undefined && { message }) },
    )
  }
}

/** A rule that leaves something of its tables. */
export type RestrictingRule = CompiledRule & {
  readonly rule: PolicyRule & Required<Pick<PolicyRule, 'restriction'>>
}

export function isRestricting(rule: CompiledRule): rule is RestrictingRule {
  return rule.rule.restriction !== undefined
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
