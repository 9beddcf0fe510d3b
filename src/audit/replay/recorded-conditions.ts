import type { IntentEntry } from '../records/audit-record.ts'
import { anonymousPrincipal } from '../../identity/principal.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Condition } from '../../policy/conditions/condition.ts'
import type { ConditionResult } from '../../policy/analysis/find-difference.ts'
import type { ConditionInput, OperationFacts } from '../../policy/conditions/authorization-request.ts'
import type { ObjectTags } from '../../policy/tags/object-tags.ts'
import { isPseudonym } from '../records/redaction.ts'
import type { KnownGroups } from './known-groups.ts'
import { watchPendingFacts } from '../../policy/conditions/watch-pending-facts.ts'

export interface RecordedRequest extends Pick<IntentEntry, 'principal' | 'client'> {
  /** Facts that the record does not contain are pending; facts unknown to every decision are unknown. */
  readonly facts: OperationFacts
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  readonly time: string
  readonly groups: KnownGroups
  /** Those that the replayed policies give the object. */
  readonly tags: ObjectTags
}

/** Undefined if the condition depends on unrecorded input. The request has the time of its record. */
export function createConditionReplayer(
  recorded: RecordedRequest,
): (condition: Condition) => ConditionResult | undefined {
  let isMissing = false
  const input = createConditionInput(recorded, () => {
    isMissing = true
  })
  return (condition) => {
    isMissing = false
    try {
      return condition.evaluate(input) ? 'true' : 'false'
    } catch {
      return isMissing ? undefined : 'failed'
    }
  }
}

function createConditionInput(
  { principal, client, facts, permission, kind, id, time, groups, tags }: RecordedRequest,
  onMissing: () => void,
): ConditionInput {
  const { issuer } = principal
  const unrecorded = (): never => {
    onMissing()
    throw new Error('not in the audit log')
  }
  return {
    permission,
    kind,
    id,
    tags,
    get principal() {
      if (principal.method === 'anonymous') return anonymousPrincipal
      // Token claims are not recorded; an API key has none.
      const isComplete = groups.isComplete && !isPseudonym(principal.name)
      if (!isComplete || principal.method !== 'api-key') return unrecorded()
      return { ...principal, groups: groups.groups, ...(issuer !== undefined && { issuer }) }
    },
    request: {
      get clientAddress() {
        return isPseudonym(client) ? unrecorded() : client
      },
      now: new Date(time),
      get context() {
        return unrecorded()
      },
    },
    operation: watchPendingFacts(facts, onMissing),
  }
}
