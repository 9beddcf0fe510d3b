import type { IntentEntry } from '../records/audit-record.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { matchSubjects } from '../../policy/analysis/subject.ts'

/**
 * Infers the groups of a caller from the rule that allowed the call: possible only if the rule has no other subject and
 * exactly one group. The record must have been decided by the policies in `documents`.
 */
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
