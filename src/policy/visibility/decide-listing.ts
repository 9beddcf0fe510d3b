import { getOperation, isOperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { AuthorizationRequest } from '../conditions/authorization-request.ts'
import type { Allowed, Decision } from '../engine/decision.ts'
import type { PolicySet } from '../policy-set.ts'

interface ListingDecision {
  readonly decision: Decision
  /** The same decision, if no rule allows the listing itself and it shows what is visible beneath. */
  readonly byVisibility: Allowed | undefined
}

/** Whether the operation lists objects, and shows those that are visible to the caller. */
export function isListing(permission: Permission): boolean {
  return isOperationName(permission) && getOperation(permission).lists !== undefined
}

/** Decides as the gateway does: without a rule, a listing is allowed if something beneath may be visible to the caller. */
export function decideListing(
  policies: Pick<PolicySet, 'decide' | 'findVisibleBeneath'>,
  request: AuthorizationRequest,
): ListingDecision {
  const decision = policies.decide(request)
  const byVisibility = findByVisibility(policies, request, decision)
  return { decision: byVisibility ?? decision, byVisibility }
}

/** The decision that allows a listing which no rule allows: something beneath may be visible to the caller. */
export function findByVisibility(
  policies: Pick<PolicySet, 'findVisibleBeneath'>,
  request: AuthorizationRequest,
  decision: Decision,
): Allowed | undefined {
  const mayBeVisible = !decision.allowed && decision.reason === 'no_rule' && isListing(request.permission)
  return mayBeVisible ? policies.findVisibleBeneath(request) : undefined
}
