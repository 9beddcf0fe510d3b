import { isWithin, isSameIdentifier } from '../../catalog-api/identifiers.ts'
import { notInDatabaseError } from '../../catalog-api/place-in-database.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import type { CheckDecision } from '../body/checked-source.ts'
import type { Payload } from '../body/checked-body.ts'
import { restateHead } from '../body/restate-facts.ts'
import { advance, type Authenticated } from '../context.ts'
import type { SealedIds } from '../facts/sealed-ids.ts'
import { restrictRequest, tryRestriction, type TriedRestriction } from '../restrictions/restrict-request.ts'
import { assertCircuitClosed } from '../upstream/call-upstream.ts'
import { findSoleUpstream } from '../upstream/sole-upstream.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import { createDecisionCheck, type AuthorizeBodyOptions, type Permitted } from './authorize-body.ts'
import { canonicalizeBranch, type StatedFacts } from '../../catalog-api/facts.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { uploadIdName } from '../../catalog-api/operations.ts'

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
  /** What shadow policies would restrict, if that differs from the policies in force. */
  readonly triedRestriction: TriedRestriction | undefined
}

export interface PlaceOptions extends AuthorizeBodyOptions {
  readonly upstreams: Upstreams
  readonly sealedIds: SealedIds
}

/**
 * Stage 8: finds the upstream of all objects that the request concerns, and creates what it receives. Throws InvalidInput
 * (400, 406, 409) for a request that no upstream can process as a whole, and ServiceUnavailable (503) if it cannot be
 * forwarded now: no intent is written for it.
 */
export function place(request: Permitted, options: PlaceOptions): Placed {
  const { upstreams, sealedIds } = options
  const { permit, body, headPermit } = request
  const { stated, decisions } = permit
  const route = openUploadId(request, stated, sealedIds)
  const restated = restateHead(route, request.head, stated)
  const sentRoute = restated ? { ...route, parameters: restated.parameters } : route
  assertWithinDatabase(request)
  const { allowedMembers } = body
  const located = findSoleUpstream(request, { decisions, allowedMembers }, sentRoute, upstreams)
  // A listing of all tables does without upstreams that are unavailable.
  if (route.operation.lists !== 'all tables') assertCircuitClosed(located.upstream)
  const checkDecision = createDecisionCheck(request, options)
  const payload = body.createPayload(stated, checkDecision)
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
    triedRestriction: shadowRestriction && tryRestriction(request, payload, shadowRestriction),
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
