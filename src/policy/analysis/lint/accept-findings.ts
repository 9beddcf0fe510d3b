import type { AcceptedFinding, PolicyDocument } from '../../language/policy-document.ts'
import type { Finding } from './finding.ts'

/**
 * Returns the findings, with level `accepted` and the reason if a comment accepts them. Adds a warning for each comment
 * without a finding: it hides nothing now and would hide a mistake later.
 */
export function acceptFindings(
  findings: readonly Finding[],
  documents: readonly PolicyDocument[],
): readonly Finding[] {
  const acceptances = listAcceptances(documents)
  const used = new Set<AcceptedFinding>()
  const result = findings.map((finding): Finding => {
    const { file, line, check, message } = finding
    const accepted = acceptances.find(
      (one) => one.file === file && one.accepted.about === line && one.accepted.check === check,
    )?.accepted
    if (accepted === undefined) return finding
    used.add(accepted)
    return { ...finding, level: 'accepted', message: `${message}; accepted: ${accepted.reason}` }
  })
  const unused = acceptances
    .filter(({ accepted }) => !used.has(accepted))
    .map(({ file, policy, accepted: { check, about, line, column } }): Finding => {
      const message = `accepts a finding of the check "${check}" about line ${about}, but there is none; remove the comment`
      return { level: 'warning', check: 'accept', file, line, column, policy, message }
    })
  return [...result, ...unused]
}

interface Acceptance {
  readonly file: string
  /** The policy in which the comment is, or that of the next document. */
  readonly policy: string
  readonly accepted: AcceptedFinding
}

/** The documents of a file have the same comments. */
function listAcceptances(documents: readonly PolicyDocument[]): readonly Acceptance[] {
  const found = new Map<AcceptedFinding, Acceptance>()
  for (const { file, name, line, accepted } of documents) {
    for (const one of accepted)
      if (!found.has(one) || line <= one.about) found.set(one, { file, policy: name, accepted: one })
  }
  return [...found.values()]
}
