import type { StatedFacts } from '../../catalog-api/facts.ts'
import type { Allowed, Decision } from '../../policy/engine/decision.ts'
import type { AuthorizationRequest, RequestFacts } from '../../policy/conditions/authorization-request.ts'
import type { PolicySet } from '../../policy/policy-set.ts'
import { advance, type Authenticated } from '../context.ts'
import { createDeniedError } from '../authorization/denied-error.ts'
import type { StartedJob } from '../facts/started-jobs.ts'
import { readBodyFacts, readHeadFacts, type JsonObject } from '../facts/stated-facts.ts'
import { createRequestFacts } from '../facts/request-facts.ts'
import { listHeadPermissions, listRequestPermissions } from '../authorization/request-permissions.ts'
import type { PermissionDecision, RequiredPermission } from '../authorization/required-permission.ts'
import { runAtOnce, runInSlices, type Steps } from '../../lib/async/run-in-slices.ts'

/** What the policies decided about a request. */
interface Decisions {
  /** The policies that decide, about the head and about the body. */
  readonly policies: PolicySet
  /** Facts that do not depend on the operation. */
  readonly facts: RequestFacts
  /** Facts that the request states, as far as it was read. */
  readonly stated: StatedFacts
  /** All required permissions, that of the operation first. */
  readonly decisions: readonly PermissionDecision[]
}

/** Proof that the policies allow the head of a request. The class is private, so only this module creates one. */
class HeadPermit implements Decisions {
  readonly policies: PolicySet
  readonly facts: RequestFacts
  readonly stated: StatedFacts
  readonly decisions: readonly PermissionDecision[]
  /** Makes the type nominal: no other object is a permit. */
  declare protected readonly isIssued: true

  constructor({ policies, facts, stated, decisions }: Decisions) {
    this.policies = policies
    this.facts = facts
    this.stated = stated
    this.decisions = decisions
  }
}

/** Proof that the policies allow a whole request: everything is decided. */
class FullPermit extends HeadPermit {
  /** Whether storage credentials must be removed from the response. */
  readonly withholdsCredentials: boolean
  /** Whether the response must not describe the object. */
  readonly withholdsDescription: boolean

  constructor(decisions: Decisions, mayDescribe: boolean) {
    super(decisions)
    this.withholdsCredentials = this.decisions.some(
      ({ requiredPermission, result }) =>
        requiredPermission.fallback === 'withheld' && result === 'not-granted',
    )
    this.withholdsDescription = !mayDescribe
  }
}

/** Proof that the policies allow the head of a request; only `authorize` issues it. */
type Permit = HeadPermit

/** Proof that the policies allow a whole request; only `authorizeBody` and `authorizeBatch` issue it. */
export type { FullPermit }

/** A request that the policies allow, as far as its head can tell. */
export interface Authorized extends Authenticated {
  readonly permit: Permit
}

/**
 * Stage 4: asks the policies for every permission that the head of a request requires. Decisions that depend on facts
 * of the body stay undecided, unless no body could change them. Throws DeniedError (401, 403, 404), or InvalidInput (400)
 * for facts that contradict each other.
 */
export function authorize(request: Authenticated, policies: PolicySet, now = new Date()): Authorized {
  const facts = createRequestFacts(request.head, now)
  const read = readHeadFacts(request)
  const decisions = listHeadPermissions(request, read).map((requiredPermission): PermissionDecision => {
    const authorizationRequest = createAuthorizationRequest(requiredPermission, request, facts)
    const decision = policies.decidePartially(authorizationRequest)
    return {
      requiredPermission,
      result:
        decision === undefined
          ? 'undecided'
          : toResult(requiredPermission, decision, authorizationRequest, policies),
    }
  })
  return advance(request, { permit: new HeadPermit({ policies, facts, stated: read.stated, decisions }) })
}

/** The members of a JSON body that were read, and whether these are all. */
interface ReadBody {
  readonly members: JsonObject
  readonly isWhole: boolean
  /** The job that it names by a sealed id. */
  readonly job?: StartedJob | undefined
}

/**
 * Decides everything that a request requires, with the facts of its body. If `body` is not whole, facts that the rest
 * may state count against the caller. Decisions about the head stay, unless they depend on the time. Throws DeniedError
 * (401, 403, 404), or InvalidInput (400).
 */
export function authorizeBody(request: Authorized, body: ReadBody | undefined): FullPermit {
  return body === undefined ? authorizeUnreadBody(request) : runAtOnce(decideBody(request, body))
}

/** Like `authorizeBody`, in slices, so that a large batch does not block other requests. */
export function authorizeBatch(request: Authorized, body: ReadBody): Promise<FullPermit> {
  return runInSlices(decideBody(request, body))
}

function authorizeUnreadBody(request: Authorized): FullPermit {
  const { permit } = request
  const mayDescribe = permit.decisions.every(({ requiredPermission }, index) =>
    canDescribe(requiredPermission, index, request, permit),
  )
  return new FullPermit(permit, mayDescribe)
}

function* decideBody(request: Authorized, body: ReadBody): Steps<FullPermit> {
  const { permit } = request
  const { policies } = permit
  const facts = createRequestFacts(request.head, new Date())
  const read = readBodyFacts(request, body.members, body.isWhole)
  const decisions: PermissionDecision[] = []
  let mayDescribe = true
  for (const requiredPermission of listRequestPermissions(request, read, body)) {
    const before = permit.decisions.find((one) =>
      isSamePermission(one.requiredPermission, requiredPermission),
    )
    const isConclusive =
      before !== undefined &&
      before.result !== 'undecided' &&
      !policies.dependsOnTime(requiredPermission.permission)
    const result = isConclusive
      ? before.result
      : decidePermission(requiredPermission, request, facts, policies)
    mayDescribe &&= canDescribe(requiredPermission, decisions.length, request, { facts, policies })
    decisions.push({ requiredPermission, result })
    yield
  }
  return new FullPermit({ policies, facts, stated: read.stated, decisions }, mayDescribe)
}

/** Decides again at the end of a body what depends on the time. Throws DeniedError if it is not allowed any more. */
export function reauthorize(
  request: Authorized,
  { policies, decisions }: FullPermit,
  now = new Date(),
): void {
  const facts = createRequestFacts(request.head, now)
  for (const { requiredPermission } of decisions) {
    if (policies.dependsOnTime(requiredPermission.permission))
      decidePermission(requiredPermission, request, facts, policies)
  }
}

/** Whether any decision depends on the time. */
export function dependsOnTime({ policies, decisions }: FullPermit): boolean {
  return decisions.some(({ requiredPermission }) => policies.dependsOnTime(requiredPermission.permission))
}

/** The decision that an audit record names; undefined for a batch without entries. */
export function firstAllowed({ decisions }: FullPermit): Allowed | undefined {
  for (const { result } of decisions) if (typeof result === 'object') return result
  return undefined
}

function decidePermission(
  permission: RequiredPermission,
  request: Authorized,
  facts: RequestFacts,
  policies: PolicySet,
): PermissionDecision['result'] {
  const authorizationRequest = createAuthorizationRequest(permission, request, facts)
  const decision =
    permission.includesSubtree === true
      ? policies.decideBeneath(authorizationRequest)
      : policies.decide(authorizationRequest)
  return toResult(permission, decision, authorizationRequest, policies)
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
  if (permission.fallback === 'visibility-decides' && decision.reason === 'no_rule') {
    const visible = policies.findVisibleBeneath(request)
    if (visible !== undefined) return visible
  }
  throw createDeniedError(permission, decision, request, policies)
}

/** Whether the response may describe the object of `permission`, if that is an object of the request or of an entry. */
function canDescribe(
  permission: RequiredPermission,
  index: number,
  request: Authenticated,
  { facts, policies }: Pick<Decisions, 'facts' | 'policies'>,
): boolean {
  const { operation } = request.route
  if (operation.describes.length === 0) return true
  const isObject = operation.entries === undefined ? index === 0 : permission.entry !== undefined
  return !isObject || policies.canDescribe(createAuthorizationRequest(permission, request, facts))
}

function createAuthorizationRequest(
  { permission, kind, id, facts }: RequiredPermission,
  { principal }: Authenticated,
  request: RequestFacts,
): AuthorizationRequest {
  return { principal, permission, kind, id, request, operation: facts }
}

/** Entries of batches are decided by nothing but their own facts, which no head states. */
function isSamePermission(one: RequiredPermission, other: RequiredPermission): boolean {
  return (
    one.permission === other.permission &&
    one.requiredBy === other.requiredBy &&
    one.fallback === other.fallback &&
    other.entry === undefined
  )
}
