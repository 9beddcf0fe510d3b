import type { StatedFacts } from '../../catalog-api/facts.ts'
import type { Principal } from '../../identity/index.ts'
import type { AuthorizationRequest, RequestFacts } from '../../policy/conditions/authorization-request.ts'
import type { Allowed, Decision } from '../../policy/engine/decision.ts'
import type { PolicySet } from '../../policy/policy-set.ts'
import { findByVisibility } from '../../policy/visibility/decide-listing.ts'
import { createDeniedError } from './denied-error.ts'
import type { PermissionDecision, RequiredPermission } from './required-permission.ts'

/** What the policies decided about a request. */
export interface Decisions {
  /** The policies that decide, about the head and about the body. */
  readonly policies: PolicySet
  /** Facts that do not depend on the operation. */
  readonly facts: RequestFacts
  /** Facts that the request states, as far as it was read. */
  readonly stated: StatedFacts
  /** All required permissions, that of the operation first. */
  readonly decisions: readonly PermissionDecision[]
}

/** A caller, the policies that decide about it, and the facts that they see. */
export interface DecisionContext {
  readonly principal: Principal
  readonly policies: PolicySet
  readonly facts: RequestFacts
}

/** Decides before the body is known: `undecided` if a body could change it. Throws DeniedError (401, 403, 404). */
export function decidePartially(
  permission: RequiredPermission,
  context: DecisionContext,
): PermissionDecision['result'] {
  const request = createAuthorizationRequest(permission, context)
  const decision = context.policies.decidePartially(request)
  return decision === undefined ? 'undecided' : toResult(permission, decision, request, context.policies)
}

/** Decides with all facts. Throws DeniedError (401, 403, 404). */
export function decide(permission: RequiredPermission, context: DecisionContext): Allowed | 'not-granted' {
  const { policies } = context
  const request = createAuthorizationRequest(permission, context)
  const decision =
    permission.includesSubtree === true ? policies.decideBeneath(request) : policies.decide(request)
  return toResult(permission, decision, request, policies)
}

/** Throws DeniedError, unless the request goes on without the permission. */
function toResult(
  permission: RequiredPermission,
  decision: Decision,
  request: AuthorizationRequest,
  policies: PolicySet,
): Allowed | 'not-granted' {
  if (decision.allowed) return decision
  if (permission.fallback === 'withheld') return 'not-granted'
  const isDecidedByBody = permission.fallback === 'entries-decide' || permission.fallback === 'job-decides'
  if (isDecidedByBody && decision.reason === 'no_rule') return 'not-granted'
  const visible =
    permission.fallback === 'visibility-decides' ? findByVisibility(policies, request, decision) : undefined
  if (visible !== undefined) return visible
  throw createDeniedError(permission, decision, request, policies)
}

export function createAuthorizationRequest(
  { permission, kind, id, facts }: RequiredPermission,
  { principal, facts: request }: DecisionContext,
): AuthorizationRequest {
  return { principal, permission, kind, id, request, operation: facts }
}
