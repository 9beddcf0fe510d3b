/** Identifies a rule in the policy files and in the audit log. */
export interface RuleReference {
  readonly policy: string
  readonly rule: string
  /** Relative to the policy folder. The line is that on which the rule starts. */
  readonly file: string
  readonly line: number
  /** ISO 8601, UTC: an allow rule applies before this time. */
  readonly until?: string
}

/** Unique name of a rule in a folder: `policy/rule`. */
export function qualifiedRuleName({ policy, rule }: Pick<RuleReference, 'policy' | 'rule'>): string {
  return `${policy}/${rule}`
}

export type Decision =
  | { readonly allowed: true; readonly rule: RuleReference; readonly revision: string }
  | {
      readonly allowed: false
      /** `no_rule`: no rule allows it. `denied`: a rule denies it. */
      readonly reason: 'no_rule' | 'denied'
      readonly rule?: RuleReference
      /** For callers that may know of the object. */
      readonly message?: string
      readonly revision: string
    }

export type Allowed = Extract<Decision, { allowed: true }>
