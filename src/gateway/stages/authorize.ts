import type { AuthorizationRequest, CallerRestriction, PolicySet } from '../../policy/index.ts'
import { createAuthorizationRequest, decidePartially, Decisions } from '../authorization/decisions.ts'
import type { PermissionDecision } from '../authorization/required-permission.ts'
import { listHeadPermissions } from '../authorization/list-required-permissions.ts'
import { advance, type Authenticated } from '../context.ts'
import { HeadFacts, readHeadFacts } from '../facts/stated-facts.ts'

/** Proof that the policies allow the head of a request. The class is private, so only this module creates one. */
class HeadPermit extends Decisions {
  /** The part of the table of the request that the policies leave; undefined for all of it. */
  readonly restriction: CallerRestriction | undefined
  /** The part that shadow policies would leave; undefined if that is the same. */
  readonly shadowRestriction: CallerRestriction | undefined
  /** On the clock of performance.now(). */
  readonly decidedAt = performance.now()
  /** Makes the type nominal: no other object is a permit. */
  declare protected readonly isIssued: true

  constructor(decided: Decisions, ownRequest: AuthorizationRequest | undefined) {
    super(decided)
    this.restriction = ownRequest && decided.policies.findRestriction(ownRequest)
    this.shadowRestriction = ownRequest && decided.policies.findShadowRestriction?.(ownRequest)
  }
}

/** A request whose head the policies allow. */
export interface Authorized extends Authenticated {
  readonly headPermit: HeadPermit
}

/**
 * Stage 4: asks the policies for every permission that the head of a request requires. Decisions that depend on facts
 * of the body stay undecided, unless no body could change them. Throws DeniedError (401, 403, 404), or InvalidInput (400)
 * for facts that contradict each other.
 */
export function authorize<Request extends Authenticated>(
  request: Request,
  policies: PolicySet,
  now = new Date(),
): Request & Authorized {
  const { head, principal } = request
  const facts = new HeadFacts(head, now)
  const read = readHeadFacts(request)
  const context = { principal, policies, facts }
  const decisions = listHeadPermissions(request, read).map((requiredPermission): PermissionDecision => ({
    requiredPermission,
    result: decidePartially(requiredPermission, context),
  }))
  const [own] = decisions
  const ownRequest = own && createAuthorizationRequest(own.requiredPermission, context)
  const headPermit = new HeadPermit({ policies, facts, stated: read.stated, decisions }, ownRequest)
  return advance(request, { headPermit })
}
