import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { StatedFacts } from '../../catalog-api/facts.ts'
import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { OperationFacts } from '../../policy/conditions/authorization-request.ts'
import type { Allowed } from '../../policy/engine/decision.ts'
import type { JsonObject } from '../facts/stated-facts.ts'

/** A permission that a request needs. */
export interface RequiredPermission {
  readonly permission: Permission
  readonly kind: ObjectKind
  readonly id: Identifier
  /** The facts of this permission on this object; nothing is inherited from the request. */
  readonly facts: OperationFacts
  /** Whether it must be allowed on everything beneath the object, too. */
  readonly includesSubtree?: true
  /** What in the request asks for it, for the message of a refusal: `mode=overwrite`. */
  readonly requiredBy?: string
  /** The entry of a batch that asks for it, and the facts that it states. */
  readonly entry?: { readonly members: JsonObject; readonly stated: StatedFacts }
  /**
   * What happens instead of a refusal: the entries of a batch decide if no rule speaks of the batch itself; the
   * credentials are removed from the response; a listing that no rule speaks of shows what is visible beneath.
   */
  readonly fallback?: 'entries-decide' | 'withheld' | 'what-is-visible'
}

/** A permission that a request needs, and what the policies decided. */
export interface PermissionDecision {
  readonly requiredPermission: RequiredPermission
  /** `undecided`: it depends on facts of the body. `left-out`: it is denied, and the request goes on without. */
  readonly result: Allowed | 'undecided' | 'left-out'
}

/** What a request needs besides its own operation: other permissions, other objects, the entries of a batch. */
export function listAdditionalPermissions(
  decisions: readonly PermissionDecision[],
): readonly RequiredPermission[] {
  return decisions
    .slice(1)
    .map(({ requiredPermission }) => requiredPermission)
    .filter(({ fallback }) => fallback !== 'withheld')
}
