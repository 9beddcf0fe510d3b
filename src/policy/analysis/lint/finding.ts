import { qualifiedRuleName } from '../../testing/decision-test.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'

/** Severity. `error`: a rule that can never decide. `warning`: probably a mistake. `info`: worth a review. `accepted`: intended. */
export type FindingLevel = 'error' | 'warning' | 'info' | 'accepted'

/** A valid part of the policies that is probably not intended. */
export interface Finding {
  readonly level: FindingLevel
  readonly check: string
  readonly file: string
  readonly line: number
  readonly column?: number
  /** The policy and the rule that the finding is about. */
  readonly policy?: string
  readonly rule?: string
  readonly message: string
}

export function createFinding(
  document: PolicyDocument,
  rule: PolicyRule,
  level: FindingLevel,
  check: string,
  message: string,
): Finding {
  const name = qualifiedRuleName({ policy: document.name, rule: rule.id })
  const { file } = document
  const { line, column } = rule
  return {
    level,
    check,
    file,
    line,
    column,
    policy: document.name,
    rule: rule.id,
    message: `${name} ${message}`,
  }
}
