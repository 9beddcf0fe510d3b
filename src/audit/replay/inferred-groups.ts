import type { IntentEntry } from '../records/audit-record.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { matchSubjects } from '../../policy/analysis/subject.ts'

/** Only a rule without other subjects and with one group reveals a group. `documents` must have decided the record. */
export function inferGroups(
  { principal, rule }: Pick<IntentEntry, 'principal'> & Partial<Pick<IntentEntry, 'rule'>>,
  documents: readonly PolicyDocument[],
): readonly string[] {
  const document = documents.find(({ name }) => name === rule?.policy)
  const subjects = document?.rules.find(({ id }) => id === rule?.rule)?.subjects
  if (subjects === undefined || subjects.any) return []
  const match = matchSubjects(subjects, {
    isAnonymous: principal.method === 'anonymous',
    user: principal.name,
    key: principal.method === 'api-key' ? principal.credentialId : '',
    groups: new Set(),
    excludedGroups: new Set(),
  })
  return typeof match === 'object' && match.groups.length === 1 ? match.groups : []
}
