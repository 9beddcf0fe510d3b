import type { Permission } from '../interface/permissions.ts'
import type { CompiledRule } from './compiled-rule.ts'
import type { Condition } from './condition.ts'
import type { Decision, RuleReference } from './decision.ts'
import { matcherOf, sampleOf, type NameMatcher } from './name-pattern.ts'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'
import type { SubjectNumbers } from './subject-numbers.ts'

/** Takes the errors of conditions: an allow did not apply, or a deny applied, because it could not be told. */
export type ConditionFailed = (rule: RuleReference, effect: 'allow' | 'deny', error: unknown) => void

/** Makes a rule ready to be asked; `order` is its place among all rules. */
export type CompileRule = (rule: PolicyRule, document: PolicyDocument, order: number) => CompiledRule

/** A compiler for the rules of one set of policies. */
export function ruleCompiler(
  subjects: SubjectNumbers,
  revision: string,
  conditionFailed: ConditionFailed,
): CompileRule {
  const set = { subjects, revision, conditionFailed }
  return (rule, document, order) => new RuleOfSet(set, rule, document, order)
}

interface Shared {
  readonly subjects: SubjectNumbers
  readonly revision: string
  readonly conditionFailed: ConditionFailed
}

const nobody: readonly number[] = []

/** A class, as there are thousands of these: the decision of a rule is made when the rule first decides. */
class RuleOfSet implements CompiledRule {
  readonly tables: readonly NameMatcher[] | undefined
  readonly except: readonly number[]
  readonly condition: Condition | undefined
  private made: Decision | undefined
  readonly effect: 'allow' | 'deny'
  readonly order: number
  readonly permissions: ReadonlySet<Permission>
  readonly subjects: readonly number[]
  readonly samples: readonly string[] | undefined
  private readonly rule: PolicyRule
  private readonly document: PolicyDocument
  private readonly set: Shared

  constructor(set: Shared, rule: PolicyRule, document: PolicyDocument, order: number) {
    const { effect, subjects, permissions, tables, condition } = rule
    this.tables = tables?.map(matcherOf)
    this.except = subjects.except === undefined ? nobody : set.subjects.of(subjects.except)
    this.condition = condition
    this.made = undefined
    this.effect = effect
    this.order = order
    this.permissions = permissions
    this.subjects = set.subjects.of(subjects)
    this.samples = tables?.map(sampleOf)
    this.rule = rule
    this.document = document
    this.set = set
  }

  get decision(): Decision {
    this.made ??= this.decide()
    return this.made
  }

  failed(error: unknown): void {
    this.set.conditionFailed(this.reference(), this.effect, error)
  }

  private decide(): Decision {
    const rule = this.reference()
    const { revision } = this.set
    return Object.freeze(
      this.effect === 'allow'
        ? { allowed: true, rule, revision }
        : { allowed: false, reason: 'denied', rule, revision },
    )
  }

  private reference(): RuleReference {
    const { name, file } = this.document
    return Object.freeze({ policy: name, rule: this.rule.id, file, line: this.rule.line })
  }
}
