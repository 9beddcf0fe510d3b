import type { IntentEntry } from '../records/audit-record.ts'
import type { LoadedPolicies } from '../../policy/source/load-policies.ts'
import { inferGroups } from './inferred-groups.ts'

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
