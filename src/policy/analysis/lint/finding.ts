import type { LocatedRule } from '../../engine/compiled-rule.ts'
import type { AcceptedFinding, PolicyDocument } from '../../language/policy-document.ts'
import type { PolicyProblem } from '../../language/policy-error.ts'

/** Severity. `error`: a rule that can never decide. `warning`: probably a mistake. `info`: worth a review. `accepted`: intended. */
type FindingLevel = 'error' | 'warning' | 'info' | 'accepted'

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

/** What a check says about a rule or a document. The message continues its name. */
export type Remark = readonly [level: FindingLevel, check: string, message: string]

export function warn(check: string, messages: readonly string[]): readonly Remark[] {
  return messages.map((message) => ['warning', check, message])
}

export function createFinding(
  { document, rule }: Pick<LocatedRule, 'document'> & Partial<LocatedRule>,
  [level, check, message]: Remark,
): Finding {
  const { name, file } = document
  const { line, column } = rule ?? document
  const about = { level, check, file, line, column, policy: name }
  if (rule === undefined) return { ...about, message: `${name} ${message}` }
  return { ...about, rule: rule.id, message: `${name}/${rule.id} ${message}` }
}

/** The finding for an error that keeps policies from coming into force. */
export function createRefusedFinding({ file, line = 1, column, message }: PolicyProblem): Finding {
  return { level: 'error', check: 'refused', file, line, ...(column && { column }), message }
}

/** `sales/write (sales.yaml:7)`. */
export function nameRule({ document, rule }: LocatedRule): string {
  return `${document.name}/${rule.id} (${document.file}:${rule.line})`
}

/**
 * Returns the findings, with level `accepted` and the reason if a comment accepts them. Adds a warning for each comment
 * without a finding: it hides nothing now and would hide a mistake later.
 */
export function acceptFindings(
  findings: readonly Finding[],
  documents: readonly PolicyDocument[],
): readonly Finding[] {
  // The documents of a file have the same comments: each is of that in which it is, or of the next one.
  const acceptances = new Map<AcceptedFinding, PolicyDocument>()
  for (const document of documents) {
    for (const one of document.accepted)
      if (!acceptances.has(one) || document.line <= one.about) acceptances.set(one, document)
  }
  const unused = new Set(acceptances.keys())
  const result = findings.map((finding): Finding => {
    const { file, line, check, message } = finding
    for (const [accepted, document] of acceptances) {
      if (document.file !== file || accepted.about !== line || accepted.check !== check) continue
      unused.delete(accepted)
      return { ...finding, level: 'accepted', message: `${message}; accepted: ${accepted.reason}` }
    }
    return finding
  })
  for (const accepted of unused) {
    const { file = '', name: policy = '' } = acceptances.get(accepted) ?? {}
    const { check, about, line, column } = accepted
    const message = `accepts a finding of the check "${check}" about line ${about}, but there is none; remove the comment`
    result.push({ level: 'warning', check: 'accept', file, line, column, policy, message })
  }
  return result
}
