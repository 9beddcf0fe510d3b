/** A rule of a policy, by where it stands: enough to find it in the files and in the audit log. */
export interface RuleReference {
  /** The name of the policy document. */
  readonly policy: string
  /** The id of the rule in it. */
  readonly rule: string
  /** The file, relative to the folder of policies, and the line where the rule begins. */
  readonly file: string
  readonly line: number
}

/** The answer of the policies: allow or deny, with the rule that made it. */
export type Decision =
  | { readonly allowed: true; readonly rule: RuleReference; readonly revision: string }
  | {
      readonly allowed: false
      /** `no_rule`: nothing allows it. `denied`: a rule forbids it. */
      readonly reason: 'no_rule' | 'denied'
      readonly rule?: RuleReference
      readonly revision: string
    }

/** The answer that allows. */
export type Allowed = Extract<Decision, { allowed: true }>
