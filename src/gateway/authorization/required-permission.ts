import type { Identifier, ObjectKind, Permission, StatedFacts } from '../../catalog-api/index.ts'
import type { Allowed, OperationFacts } from '../../policy/index.ts'
import type { JsonObject } from '../facts/stated-facts.ts'

/** A permission that a request requires. */
export interface RequiredPermission {
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  /** Facts of this permission on this object; not inherited from the request. */
  readonly facts: OperationFacts
  /** Whether the permission must also be allowed on everything below the object. */
  readonly includesSubtree?: true
  /** Whether a restriction of the object denies it: the upstream reads all of an object that the body names. */
  readonly requiresWhole?: true
  /** The part of the request that requires it, for messages: `mode=overwrite`. */
  readonly requiredBy?: string | undefined
  /** The batch entry that requires it, and the facts of that entry. */
  readonly entry?: { readonly members: JsonObject; readonly stated: StatedFacts }
  /**
   * What happens instead of a refusal: the entries of a batch decide if no rule matches the batch itself; credentials
   * are removed from the response; a listing that no rule matches shows visible objects below; the permission of the
   * operation that started a job decides if no rule matches the operation on the job.
   */
  readonly fallback?: 'entries-decide' | 'job-decides' | 'withheld' | 'visibility-decides' | undefined
}

/** A required permission with the decision of the policies. */
export interface PermissionDecision {
  readonly requiredPermission: RequiredPermission
  /** `undecided`: depends on facts of the body. `not-granted`: denied, and the request continues without it. */
  readonly result: Allowed | 'undecided' | 'not-granted'
}

/**
 * Lists the permissions that a request requires besides that of its operation: other permissions, other objects, batch
 * entries.
 */
export function listAdditionalPermissions(
  decisions: readonly PermissionDecision[],
): readonly RequiredPermission[] {
  return decisions
    .slice(1)
    .map(({ requiredPermission }) => requiredPermission)
    .filter(({ fallback }) => fallback !== 'withheld')
}
