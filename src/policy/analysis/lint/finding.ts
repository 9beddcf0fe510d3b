import { qualifiedRuleName } from '../../testing/decision-test.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'

/** Severity. `error`: a rule that can never decide. `warning`: probably a mistake. `info`: worth a review. */
export type FindingLevel = 'error' | 'warning' | 'info'

/** A valid part of the policies that is probably not intended. */
export interface Finding {
  readonly level: FindingLevel
  readonly check: string
  readonly file: string
  readonly line: number
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
  return { level, check, file: document.file, line: rule.line, message: `${name} ${message}` }
}
