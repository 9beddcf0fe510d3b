import type { IntentEntry } from '../records/audit-record.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { matchSubjects } from '../../policy/analysis/subject.ts'

/**
 * The groups that a caller must have been in for a rule to allow the call: where the rule names no other way, and
 * one group alone. Asked only about a record of the very policies that the documents are.
 */
export function inferGroups(
  { principal, rule }: Pick<IntentEntry, 'principal'> & Partial<Pick<IntentEntry, 'rule'>>,
  documents: readonly PolicyDocument[],
): readonly string[] {
  const document = documents.find(({ name }) => name === rule?.policy)
  const subjects = document?.rules.find(({ id }) => id === rule?.rule)?.subjects
  if (subjects === undefined || subjects.any) return []
  const concern = matchSubjects(subjects, {
    isAnonymous: principal.method === 'anonymous',
    user: principal.name,
    key: principal.method === 'api-key' ? principal.credentialId : '',
    groups: new Set(),
    excludedGroups: new Set(),
  })
  return typeof concern === 'object' && concern.groups.length === 1 ? concern.groups : []
}
