import { CatalogError, refusal } from '../../catalog-api/index.ts'
import { runAtOnce, type Steps } from '../../lib/index.ts'
import type { Authenticator } from '../../identity/index.ts'
import { getPrincipalKey } from '../../limits/index.ts'
import { type Allowed, canDescribe, isSameRestriction, type PolicySet } from '../../policy/index.ts'
import {
  createAuthorizationRequest,
  decide,
  type DecisionContext,
  Decisions,
} from '../authorization/decisions.ts'
import type { PermissionDecision, RequiredPermission } from '../authorization/required-permission.ts'
import { listRequestPermissions } from '../authorization/list-required-permissions.ts'
import type { CheckDecision } from '../body/checked-body.ts'
import { maxDecisionAgeMs } from '../bounds.ts'
import { advance } from '../context.ts'
import { HeadFacts, readBodyFacts } from '../facts/stated-facts.ts'
import { authorize } from './authorize.ts'
import type { BodyRead } from './read-body.ts'

/** Proof that the policies allow a whole request. The class is private, so only this module creates one. */
class Permit extends Decisions {
  /** Whether storage credentials must be removed from the response. */
  readonly withholdsCredentials: boolean
  /** Whether the response must not describe the object: then it only has the members of the catalog API. */
  readonly withholdsDescription: boolean
  /** Makes the type nominal: no other object is a permit. */
  declare protected readonly isIssued: true

  constructor(decided: Decisions, mayDescribe: boolean) {
    super(decided)
    const vending = decided.decisions.filter(
      ({ requiredPermission }) => requiredPermission.permission === 'VendCredentials',
    )
    this.withholdsCredentials = vending.length === 0 || vending.some(({ result }) => result === 'not-granted')
    this.withholdsDescription = !mayDescribe
  }
}

/** A request that the policies allow, with everything that its body states. */
export interface Permitted extends BodyRead {
  readonly permit: Permit
  /** The decision that the audit record names. */
  readonly allowedBy: Allowed
}

export interface AuthorizeBodyOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>
  readonly policies: { current(): PolicySet }
}

/**
 * Stage 7: asks the policies for every permission that a whole request requires, with the facts of its body. If the body took long, or the policies have
 * changed, the caller is authenticated and the head authorized again. Runs in slices for a batch, so that a large one does
 * not block other requests. Rejects with DeniedError (401, 403, 404), AuthenticationError, InvalidInput (400), or
 * ServiceUnavailable (503) if the part of the table that the caller may read has changed.
 */
export async function authorizeBody(read: BodyRead, options: AuthorizeBodyOptions): Promise<Permitted> {
  const request = isCurrent(read, options) ? read : await authorizeAgain(read, options)
  const isBatch = request.route.operation.entries !== undefined
  const permit = !request.body.mayState
    ? permitHead(request)
    : isBatch
      ? await request.runInSlices(decideBody(request))
      : runAtOnce(decideBody(request))
  const allowedBy = permit.decisions.find(({ result }) => typeof result === 'object')?.result
  if (typeof allowedBy !== 'object')
    throw refusal('invalid_body', 'the batch is empty; expected at least one operation')
  return advance(request, { permit, allowedBy })
}

/** Returns the check that decides again about a request while its body is sent, and before its last byte. */
export function createDecisionCheck(request: Permitted, options: AuthorizeBodyOptions): CheckDecision {
  let latest = request
  async function decideAgain(when: Parameters<CheckDecision>[0]): Promise<void> {
    try {
      const again = await authorizeBody({ ...latest }, options)
      if (!isTreatedAlike(again, latest)) throw changedError()
      latest = again
    } catch (error) {
      // An issuer that does not respond must not cut a long upload: it may respond before the end.
      const isUndecided = error instanceof CatalogError && error.kind === 'ServiceUnavailable'
      if (when === 'end' || !isUndecided) throw error
    }
  }
  return (when) => (isCurrent(latest, options) ? undefined : decideAgain(when))
}

function isCurrent({ headPermit }: BodyRead, { policies }: AuthorizeBodyOptions): boolean {
  const isRecent = performance.now() - headPermit.decidedAt <= maxDecisionAgeMs
  return isRecent && headPermit.policies === policies.current()
}

async function authorizeAgain(
  request: BodyRead,
  { authenticator, policies }: AuthorizeBodyOptions,
): Promise<BodyRead> {
  const principal = await authenticator.authenticate(request.head.credentials)
  const { restriction } = request.headPermit
  if (getPrincipalKey(principal) !== getPrincipalKey(request.principal)) throw changedError()
  const again = authorize(advance(request, { principal }), policies.current())
  // The members that a restriction needs may not have been read.
  if (!isSameRestriction(again.headPermit.restriction, restriction)) throw changedError()
  return again
}

/** Whether requests that are both allowed are sent alike, and their responses edited alike. Policies filter listings. */
function isTreatedAlike(one: Permitted, other: Permitted): boolean {
  return (
    (one.route.operation.lists === undefined || one.headPermit.policies === other.headPermit.policies) &&
    one.permit.withholdsCredentials === other.permit.withholdsCredentials &&
    one.permit.withholdsDescription === other.permit.withholdsDescription
  )
}

function changedError(): CatalogError {
  return refusal(
    'permissions_changed',
    'what you may do has changed while the request was sent; send it again',
  )
}

/** The head has decided everything. */
function permitHead(request: BodyRead): Permit {
  const { headPermit, principal } = request
  const context = { principal, policies: headPermit.policies, facts: headPermit.facts }
  const mayDescribe = headPermit.decisions.every(({ requiredPermission }, index) =>
    canDescribeObject(requiredPermission, index, request, context),
  )
  return new Permit(headPermit, mayDescribe)
}

function* decideBody(request: BodyRead): Steps<Permit> {
  const { headPermit, principal, body } = request
  const { policies } = headPermit
  const facts = new HeadFacts(request.head, new Date())
  const context = { principal, policies, facts }
  const read = readBodyFacts(request, body.members)
  const decisions: PermissionDecision[] = []
  let mayDescribe = true
  for (const requiredPermission of listRequestPermissions(request, read, body)) {
    const before = headPermit.decisions.find((one) =>
      isSamePermission(one.requiredPermission, requiredPermission),
    )
    const isConclusive = before !== undefined && before.result !== 'undecided'
    const result = isConclusive ? before.result : decide(requiredPermission, context)
    mayDescribe &&= canDescribeObject(requiredPermission, decisions.length, request, context)
    decisions.push({ requiredPermission, result })
    yield
  }
  return new Permit({ policies, facts, stated: read.stated, decisions }, mayDescribe)
}

/** Whether the response may describe the object of `permission`, if that is an object of the request or of an entry. */
function canDescribeObject(
  permission: RequiredPermission,
  index: number,
  { route: { operation } }: BodyRead,
  context: DecisionContext,
): boolean {
  // Listings are filtered by visibility.
  if (operation.response !== 'json' || operation.lists !== undefined) return true
  const isObject = operation.entries === undefined ? index === 0 : permission.entry !== undefined
  return !isObject || canDescribe(context.policies, createAuthorizationRequest(permission, context))
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
