import type { RequirementData } from '../conditions/requirement-data.ts'
import type { Grant } from '../language/grant.ts'

/** Identifies a rule in the policy files and in the audit log, with its end and its approval if it has them. */
export interface RuleReference extends Grant {
  readonly policy: string
  readonly rule: string
  /** Relative to the policy folder. The line is that on which the rule starts. */
  readonly file: string
  readonly line: number
}

export type Decision =
  | { readonly allowed: true; readonly rule: RuleReference; readonly revision: string }
  | {
      readonly allowed: false
      /** `no_rule`: no rule allows it. `denied`: a rule denies it. */
      readonly reason: 'no_rule' | 'denied'
      readonly rule?: RuleReference
      /** Whether the rule is a restriction, which leaves a part of the table to some operations. */
      readonly byRestriction?: true
      /** What the rule requires of commits, if the change fails it. */
      readonly requirement?: RequirementData
      readonly revision: string
    }

export type Allowed = Extract<Decision, { allowed: true }>
