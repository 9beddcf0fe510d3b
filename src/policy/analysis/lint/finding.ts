import { qualifiedRuleName } from '../../testing/decision-test.ts'
import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'

/** How bad a finding is. `error`: a rule that can never decide. `warning`: probably a mistake. `info`: for people. */
export type FindingLevel = 'error' | 'warning' | 'info'

/** Something in the policies that is allowed, and yet probably not meant. */
export interface Finding {
  readonly level: FindingLevel
  /** What kind of finding it is, in one word. */
  readonly check: string
  readonly file: string
  readonly line: number
  readonly message: string
}

/** A finding about a rule. */
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
