import {
  assertSeparable,
  canonicalizeBranch,
  findOperation,
  formatIdentifierForMessage,
  isExtraOperation,
  isSameIdentifier,
  isWithin,
  notInDatabaseError,
  quoteForMessage,
  refusal,
  type RouteMatch,
  type StatedFacts,
  unknownOperationError,
  uploadIdName,
} from '../../catalog-api/index.ts'
import type { CheckDecision, Payload } from '../body/checked-body.ts'
import { restateHead } from '../body/restate-facts.ts'
import { advance, type Authenticated } from '../context.ts'
import type { SealedIds } from '../sealed-tokens.ts'
import { restrictRequest, tryRestriction, type TriedRestriction } from '../restrictions/restrict-request.ts'
import { assertCircuitClosed } from '../upstream/call-upstream.ts'
import { type Upstream, buildUpstreamTarget } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import { limitEntries, type LimitOptions } from './limit.ts'
import { createDecisionCheck, type AuthorizeBodyOptions, type Permitted } from './authorize-body.ts'
import { listAdditionalPermissions, type PermissionDecision } from '../authorization/required-permission.ts'

/** A request with all that its upstream receives. */
export interface Placed extends Permitted {
  /** The one upstream of all objects of the request. */
  readonly upstream: Upstream
  /** The route with the facts and ids that the upstream gets. */
  readonly sentRoute: RouteMatch
  /** The only request target that is forwarded. */
  readonly upstreamTarget: string
  /** Headers that repeat facts of the request for catalogs that read them there: names and values, alternately. */
  readonly restatedHeaders: readonly string[]
  readonly payload: Payload
  readonly checkDecision: CheckDecision
  /** The columns that the response may have; undefined if they are not restricted. */
  readonly responseColumns: ReadonlySet<string> | undefined
  /** The effect of restrictions of shadow policies, if that differs from the policies in force. */
  readonly triedRestriction: TriedRestriction | undefined
}

interface PlaceOptions extends AuthorizeBodyOptions, Pick<LimitOptions, 'limits'> {
  readonly upstreams: Upstreams
  readonly sealedIds: SealedIds
}

/**
 * Stage 8: finds the upstream of all objects that the request concerns, and creates the request to it. Throws InvalidInput
 * (400, 406, 409) for a request that no upstream can process as a whole, ServiceUnavailable (503) if it cannot be
 * forwarded now: no intent is written for it, and LimitExceeded (429) for entries of a batch beyond a limit.
 */
export function place(request: Permitted, options: PlaceOptions): Placed {
  const { upstreams, sealedIds } = options
  const { permit, body, headPermit } = request
  const { stated } = permit
  const route = openUploadId(request, stated, sealedIds)
  const restated = restateHead(route, request.head, stated)
  const sentRoute = restated ? { ...route, parameters: restated.parameters } : route
  assertWithinDatabase(request)
  const located = findSoleUpstream(request, sentRoute, upstreams)
  // A listing of all tables does without upstreams that are unavailable.
  if (route.operation.lists !== 'all tables') assertCircuitClosed(located.upstream)
  const checkDecision = createDecisionCheck(request, options)
  const payload = body.createPayload(stated, checkDecision)
  limitEntries(request, options)
  const { restriction, shadowRestriction } = headPermit
  const restricted = restriction && restrictRequest(request, body.members, payload, restriction)
  return advance(request, {
    upstream: located.upstream,
    sentRoute,
    upstreamTarget: located.upstreamTarget,
    restatedHeaders: restated?.headers ?? [],
    payload: restricted?.payload ?? payload,
    checkDecision,
    responseColumns: restricted?.columns,
    triedRestriction: shadowRestriction && tryRestriction(request, body.members, shadowRestriction),
  })
}

/**
 * SQL, code and references to functions and secrets name objects from the root, or as the upstream likes: not as the
 * client in a database means them. A job is in the database in which it was started.
 */
function assertWithinDatabase({ route, database, permit }: Permitted): void {
  if (route.operation.namesJob) return
  const outside = permit.decisions.find(
    ({ requiredPermission }) => !isWithin(requiredPermission.id, database),
  )
  if (outside === undefined) return
  throw notInDatabaseError(`${route.operation.name} with ${outside.requiredPermission.requiredBy ?? 'code'}`)
}

/**
 * Returns the route of a request with the id that the upstream has given to the multipart write which the request names.
 * Throws InvalidInput (400) if the caller did not begin it on this table and branch, at the upstream that has them now.
 * One message for all cases: it says nothing of the writes of others.
 */
function openUploadId(
  { route, routeUpstream, principal }: Authenticated,
  { branch }: StatedFacts,
  sealedIds: SealedIds,
): RouteMatch {
  const { operation, id, parameters } = route
  const sealed = operation.multipart === undefined ? undefined : parameters.get(uploadIdName)
  if (typeof sealed !== 'string') return route
  const write = sealedIds.open('multipart write', sealed, principal)
  const isHere =
    write !== undefined &&
    isSameIdentifier(write.id, id) &&
    canonicalizeBranch(write.branch) === canonicalizeBranch(branch) &&
    write.upstream === routeUpstream.name
  if (isHere) return { ...route, parameters: new Map(parameters).set(uploadIdName, write.upstreamId) }
  throw refusal(
    'unknown_multipart_write',
    `the query parameter "${uploadIdName}" names no multipart write that you began on this branch of the table`,
  )
}

/**
 * Finds the one upstream of all objects that a request concerns, and the target of `route` there. Throws InvalidInput
 * (400) if objects lie at different upstreams or have names that theirs could split, and for a query parameter that the upstream
 * does not accept; 406 for an extra operation that it does not have; a conflict (409) if the request would remove or replace a
 * namespace below which another upstream is mounted.
 */
function findSoleUpstream(
  request: Permitted,
  route: RouteMatch,
  upstreams: Upstreams,
): { readonly upstream: Upstream; readonly upstreamTarget: string } {
  const further = listAdditionalPermissions(request.permit.decisions)
  const [first] = further
  const isBatch = route.operation.object === 'none' && first !== undefined
  const upstream = isBatch ? upstreams.forId(first.id) : request.routeUpstream
  for (const { id, kind } of further) {
    // A permission without an object concerns only the tables of the upstream.
    if (kind === 'none') continue
    if (upstreams.forId(id) !== upstream) {
      throw refusal(
        'multiple_upstreams',
        'the objects of the request lie in different catalogs; expected all in one',
      )
    }
    assertSeparable(id, upstream.separators)
  }
  assertMountsUntouched(route, request.permit.decisions, upstreams)
  assertAccepted(request, route, upstream)
  const isAsMatched = upstream === request.routeUpstream && route === request.route
  return {
    upstream,
    upstreamTarget: isAsMatched ? request.routeTarget : buildUpstreamTarget(upstream, route),
  }
}

/** An upstream does not know the others: a namespace whose content lies at another one looks empty to it. */
function assertMountsUntouched(
  { operation, id }: RouteMatch,
  decisions: readonly PermissionDecision[],
  upstreams: Upstreams,
): void {
  const isDrop = operation.object === 'namespace' && operation.group === 'drop'
  if (isDrop && upstreams.hasMountAtOrBelow(id)) {
    throw refusal(
      'mounted_namespace_not_empty',
      'the namespace leads to another catalog, which stays where it is',
    )
  }
  const replaces = decisions.some(({ requiredPermission }) => requiredPermission.includesSubtree === true)
  if (replaces && upstreams.listMountNames(id).length > 0) {
    throw refusal(
      'mounted_namespace_exists',
      'the namespace leads to another catalog, so it cannot be replaced',
    )
  }
  for (const { requiredPermission: required } of decisions) {
    const creates = required.kind !== 'namespace' && findOperation(required.permission)?.creates === true
    if (!creates || !upstreams.hasMountAtOrBelow(required.id)) continue
    const name = formatIdentifierForMessage(required.id)
    throw refusal('mounted_namespace_in_place', `${name} is a namespace that leads to another catalog`)
  }
}

/** Checked late, so that only callers that may use the operation learn the settings of upstreams. */
function assertAccepted({ head, body }: Permitted, { operation }: RouteMatch, upstream: Upstream): void {
  if (isExtraOperation(operation) && !upstream.extraOperations.has(operation.name))
    throw unknownOperationError(head.target.replace(/\/?(?:\?.*)?$/, ''))
  // The body of a batch was read with the members of the upstream of the root.
  for (const path of body.allowedMembers) {
    if (upstream.allowedMembers[operation.name]?.includes(path) === true) continue
    throw refusal(
      'unknown_member',
      `${operation.name} has no member ${quoteForMessage(path)} in its body; omit it`,
    )
  }
}
