import type { IntentEntry } from '../records/audit-record.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { recordedNames } from './recorded-names.ts'
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
    ...recordedNames(principal),
    groups: new Set(),
    excludedGroups: new Set(),
  })
  if (typeof match === 'boolean' || match.users.length + match.keys.length > 0) return []
  return match.groups.length === 1 ? match.groups : []
}
