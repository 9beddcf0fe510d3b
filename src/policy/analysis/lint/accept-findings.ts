import type { AcceptedFinding, PolicyDocument } from '../../language/policy-document.ts'
import type { Finding } from './finding.ts'

/**
 * Returns the findings, with level `accepted` and the reason if their document accepts them. Adds a warning for each
 * acceptance without a finding: it hides nothing now and would hide a mistake later.
 */
export function acceptFindings(
  findings: readonly Finding[],
  documents: readonly PolicyDocument[],
): readonly Finding[] {
  const byPolicy = new Map(documents.map((document) => [document.name, document]))
  const used = new Set<string>()
  const result = findings.map((finding): Finding => {
    const { policy = '', check, rule, message } = finding
    const document = byPolicy.get(policy)
    const accepted = document?.accepted.find(
      (one) => one.check === check && (one.rule === undefined || one.rule === rule),
    )
    if (document === undefined || accepted === undefined) return finding
    used.add(formatPosition(document, accepted))
    return { ...finding, level: 'accepted', message: `${message}; accepted: ${accepted.reason}` }
  })
  const unused = documents.flatMap((document) => {
    const { name, file, accepted } = document
    return accepted
      .filter((one) => !used.has(formatPosition(document, one)))
      .map(({ check, rule, line, column }): Finding => {
        const about = rule === undefined ? name : `${name}/${rule}`
        const message = `${name} accepts a finding of the check "${check}" about ${about}, but there is none; remove it`
        return { level: 'warning', check: 'accept', file, line, column, policy: name, message }
      })
  })
  return [...result, ...unused]
}

/** The documents of a policy with `forEach` have the same: it is enough if one of them has the finding. */
function formatPosition({ file }: PolicyDocument, { line, column }: AcceptedFinding): string {
  return `${file}:${line}:${column}`
}
