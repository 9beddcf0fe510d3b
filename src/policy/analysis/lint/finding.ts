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

export type RuleOrDocument = Pick<LocatedRule, 'document'> & Partial<LocatedRule>

/** What a check says about a rule or a document. The message continues its name. */
export type Remark = readonly [level: FindingLevel, check: string, message: string]

export function warn(check: string, ...messages: readonly string[]): readonly Remark[] {
  return messages.map((message) => ['warning', check, message])
}

export function note(check: string, ...messages: readonly string[]): readonly Remark[] {
  return messages.map((message) => ['info', check, message])
}

export type Check<About extends RuleOrDocument = LocatedRule> = (about: About) => readonly Remark[]

export function createFinding({ document, rule }: RuleOrDocument, [level, check, message]: Remark): Finding {
  const { name, file } = document
  const { line, column } = rule ?? document
  const subject = rule === undefined ? name : `${name}/${rule.id}`
  const about = { level, check, file, line, column, policy: name, ...(rule && { rule: rule.id }) }
  return { ...about, message: `${subject} ${message}` }
}

export function createRefusedFinding({ file, line = 1, column, message }: PolicyProblem): Finding {
  return { level: 'error', check: 'refused', file, line, ...(column && { column }), message }
}

/**
 * Returns the findings, with level `accepted` and the reason if a comment accepts them. Adds a warning for each comment
 * without a finding: it hides nothing now and would hide a mistake later.
 */
export function acceptFindings(
  findings: readonly Finding[],
  documents: readonly PolicyDocument[],
): readonly Finding[] {
  const accepting = new Map<string, AcceptedFinding & { readonly file: string; readonly policy: string }>()
  for (const { file, line, name: policy, accepted } of documents) {
    for (const one of accepted) {
      const key = `${file}:${one.about}:${one.check}`
      // The documents of a file have the same comments: each is of that in which it is, or of the next one.
      if (!accepting.has(key) || line <= one.about) accepting.set(key, { ...one, file, policy })
    }
  }
  const unused = new Map(accepting)
  const accepted = findings.map((finding): Finding => {
    const key = `${finding.file}:${finding.line}:${finding.check}`
    const comment = accepting.get(key)
    unused.delete(key)
    if (comment === undefined) return finding
    return { ...finding, level: 'accepted', message: `${finding.message}; accepted: ${comment.reason}` }
  })
  const needless = [...unused.values()].map(({ check, about, file, line, column, policy }): Finding => {
    const message = `accepts a finding of the check "${check}" about line ${about}, but there is none; remove the comment`
    return { level: 'warning', check: 'accept', file, line, column, policy, message }
  })
  return [...accepted, ...needless]
}
