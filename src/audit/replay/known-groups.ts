import type { AuditedPrincipal, IntentEntry } from '../records/audit-record.ts'
import { isPseudonym } from '../records/redaction.ts'
import { anyCaller, matchSubjects, type KnownCaller } from '../../policy/engine/subject.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import type { LoadedPolicies } from '../../policy/source/load-policies.ts'

/** `recorded` in the audit log, today's groups of an API key in the key store, or `inferred` from the deciding rule. */
export type GroupSource = 'recorded' | 'keys' | 'inferred'

/** Groups of the caller of a recorded call. Unless `isComplete`, it may have others. */
export interface KnownGroups {
  readonly groups: ReadonlySet<string>
  readonly isComplete: boolean
  readonly source: GroupSource | undefined
}

export const unknownGroups: KnownGroups = { groups: new Set(), isComplete: false, source: undefined }

type CallOfPrincipal = Pick<IntentEntry, 'principal'> & Partial<IntentEntry>

/** Lists what is known of the groups of a caller, the most reliable source first. Each adds to those before it. */
export type FindGroups = (call: CallOfPrincipal) => readonly KnownGroups[]

/**
 * Complete groups in the record exclude all other sources, which are of another time. `keys` are the groups of API keys
 * by id; `current` are policies: they reveal groups in the records that they decided.
 */
export function createGroupFinder(
  keys: ReadonlyMap<string, readonly string[]>,
  current: LoadedPolicies | undefined,
): FindGroups {
  return (call) => {
    const { groups: recorded, groupsOmitted, method, credentialId } = call.principal
    const groups = new Set(recorded)
    if (recorded !== undefined && groupsOmitted === undefined) {
      return [{ groups, isComplete: true, source: 'recorded' }]
    }
    const ofKey = method === 'api-key' && recorded === undefined ? keys.get(credentialId) : undefined
    if (ofKey !== undefined) return [{ groups: new Set(ofKey), isComplete: true, source: 'keys' }]
    const isCurrent = current !== undefined && call.policyRevision === current.set.revision
    const inferred = isCurrent ? inferGroups(call, current.documents) : []
    return [
      { groups, isComplete: false, source: 'recorded' },
      { groups: new Set([...groups, ...inferred]), isComplete: false, source: 'inferred' },
    ]
  }
}

/** Only a rule without other subjects and with one group reveals a group. `documents` must have decided the record. */
export function inferGroups(
  { principal, rule }: CallOfPrincipal,
  documents: readonly PolicyDocument[],
): readonly string[] {
  const document = documents.find(({ name }) => name === rule?.policy)
  const subjects = document?.rules.find(({ id }) => id === rule?.rule)?.subjects
  if (subjects === undefined || subjects.any) return []
  const match = matchSubjects(subjects, createKnownCaller(principal, unknownGroups))
  if (typeof match === 'boolean' || match.users.length + match.keys.length > 0) return []
  return match.groups.length === 1 ? match.groups : []
}

/** What a record says of a caller. A pseudonym is no name. */
export function createKnownCaller(
  { name, method, credentialId }: AuditedPrincipal,
  { groups, isComplete }: KnownGroups,
): KnownCaller {
  const key = method === 'api-key' ? credentialId : ''
  return {
    ...anyCaller,
    isAnonymous: method === 'anonymous',
    user: isPseudonym(name) ? undefined : name,
    key: isPseudonym(key) ? undefined : key,
    groups,
    ...(isComplete && { excludedGroups: 'all' as const }),
  }
}
