import type { Permission } from '../../catalog-api/permissions.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { Condition } from '../conditions/condition.ts'
import type { Decision, RuleReference } from './decision.ts'
import { createNameMatcher, sampleName, type NameMatcher } from '../conditions/name-pattern.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import type { WrittenRestriction } from '../restrictions/restriction.ts'
import type { SubjectNumbers } from './subject-numbers.ts'

/** Called when a condition failed: an allow did not apply, or a deny applied. */
export type ReportConditionFailure = (rule: RuleReference, effect: 'allow' | 'deny', error: unknown) => void

export type CompileRule = (rule: PolicyRule, document: PolicyDocument, order: number) => CompiledRule

export function createRuleCompiler(
  subjects: SubjectNumbers,
  revision: string,
  onConditionFailure: ReportConditionFailure,
): CompileRule {
  const set = { subjects, revision, onConditionFailure }
  return (rule, document, order) => new PolicySetRule(set, rule, document, order)
}

interface RuleContext {
  readonly subjects: SubjectNumbers
  readonly revision: string
  readonly onConditionFailure: ReportConditionFailure
}

const noSubjects: readonly number[] = []

/** A class, because there are thousands of rules. Decisions are created on first use. */
class PolicySetRule implements CompiledRule {
  readonly tables: readonly NameMatcher[] | undefined
  readonly except: readonly number[]
  readonly condition: Condition | undefined
  readonly endsAt: number
  readonly restriction: WrittenRestriction | undefined
  private cachedDecision: Decision | undefined
  readonly effect: 'allow' | 'deny'
  readonly order: number
  readonly permissions: ReadonlySet<Permission>
  readonly subjects: readonly number[]
  readonly sampleNames: readonly string[] | undefined
  private readonly rule: PolicyRule
  private readonly document: PolicyDocument
  private readonly set: RuleContext

  constructor(set: RuleContext, rule: PolicyRule, document: PolicyDocument, order: number) {
    const { effect, subjects, permissions, tables, condition, until, restriction } = rule
    this.tables = tables?.map(createNameMatcher)
    this.except = subjects.except === undefined ? noSubjects : set.subjects.numbersOf(subjects.except)
    this.condition = condition
    this.endsAt = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until)
    this.restriction = restriction
    this.cachedDecision = undefined
    this.effect = effect
    this.order = order
    this.permissions = permissions
    this.subjects = set.subjects.numbersOf(subjects)
    this.sampleNames = tables?.map(sampleName)
    this.rule = rule
    this.document = document
    this.set = set
  }

  get decision(): Decision {
    this.cachedDecision ??= this.createDecision()
    return this.cachedDecision
  }

  get message(): string | undefined {
    return this.rule.message
  }

  reportFailure(error: unknown): void {
    this.set.onConditionFailure(this.reference, this.effect, error)
  }

  private createDecision(): Decision {
    const rule = this.reference
    const { revision } = this.set
    return Object.freeze(
      this.effect === 'allow'
        ? { allowed: true, rule, revision }
        : {
            allowed: false,
            reason: 'denied',
            rule,
            revision,
            ...(this.message !== undefined && { message: this.message }),
          },
    )
  }

  get reference(): RuleReference {
    const { name, file } = this.document
    const { id, line, until } = this.rule
    return Object.freeze({ policy: name, rule: id, file, line, ...(until !== undefined && { until }) })
  }
}
