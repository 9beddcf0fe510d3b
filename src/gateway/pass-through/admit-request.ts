import type { AuditLog } from '../../audit/log/audit-log.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { AuthenticationError } from '../../identity/authentication-error.ts'
import { isSafeMethod } from '../../lib/http/is-safe-method.ts'
import { getAddressKey } from '../../lib/net/address-key.ts'
import { getPrincipalKey } from '../../limits/limit-key.ts'
import { awaitAuditRecord } from '../await-audit-record.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { advance, type Authenticated, type Received } from '../context.ts'
import type { DownstreamRequest } from '../downstream.ts'
import { authenticate, type AuthenticateOptions } from '../stages/authenticate.ts'
import { holdActiveRequest, type LimitOptions } from '../stages/limit.ts'
import { receive, type ReceiveOptions } from '../stages/receive.ts'
import type { PassThroughTrace, Trace } from '../trace.ts'
import type { WaitingResponse } from '../upstream/connection-slots.ts'
import { allows, type PassThroughRoute } from './pass-through-route.ts'
import { toUpstreamPath } from './pass-through-target.ts'

export interface AdmitOptions
  extends ReceiveOptions, AuthenticateOptions, Pick<LimitOptions, 'activeRequests' | 'shedding'> {
  readonly auditLog: AuditLog
}

/** A request that a route serves. */
interface MatchedByRoute extends Received {
  readonly passThroughRoute: PassThroughRoute
  readonly upstreamPath: string
  readonly upgrade: 'websocket' | undefined
}

/** A request with its principal; without one if the route is for anyone. */
type Identified = MatchedByRoute & Partial<Pick<Authenticated, 'principal'>>

/** Proof that the rule of a route allows a request. The class is private, so only this module creates one. */
class RoutePermit {
  /** Makes the type nominal: no other object is a permit. */
  declare protected readonly isIssued: true
}

/** A request that the rule of its route allows. */
type Allowed = Identified & { readonly routePermit: RoutePermit }

/** A request that holds a connection of its route. */
type Limited = Allowed & {
  /** Releases the connection to the upstream before the response is closed, at the latest. */
  readonly releaseSlot: () => void
}

/** A request that may be forwarded: it is in the audit log if it may change something. */
export type AdmittedRequest = Limited & { readonly isRecorded: boolean }

/** The request, and the response or connection whose end releases what it holds. */
interface RequestToAdmit {
  readonly request: DownstreamRequest
  readonly trace: Trace
  readonly upgrade?: 'websocket'
  readonly response: WaitingResponse
}

/**
 * Passes a request through the stages of the pipeline that know nothing of the catalog, with the rule of the route
 * instead of policies. Throws CatalogError for each refusal, or ClientDisconnected.
 */
export async function admitRequest(
  { request, trace, upgrade, response }: RequestToAdmit,
  route: PassThroughRoute,
  options: AdmitOptions,
): Promise<AdmittedRequest> {
  trace.passThrough = { prefix: route.settings.prefix, isAllowed: undefined }
  const received = receive(request, options, trace.requestId)
  const matched = match(trace.enter('match', received), route, upgrade)
  const identified = await identify(trace.enter('authenticate', matched), options)
  const allowed = authorize(trace.enter('authorize', identified), trace.passThrough)
  const limited = await limit(trace.enter('limit', allowed), response, options)
  const audited = await audit(trace.enter('audit', limited), options)
  return trace.enter('send', audited)
}

function match(
  request: Received,
  route: PassThroughRoute,
  upgrade: MatchedByRoute['upgrade'],
): MatchedByRoute {
  const { method, hasBody, target } = request.head
  const { prefix, webSocket } = route.settings
  const methods: readonly string[] = route.settings.methods
  if (!methods.includes(method)) {
    const allow = methods.join(', ')
    const message = `method ${quoteForMessage(method)} is not allowed here; use ${allow}`
    throw refusal('method_not_allowed', message, { headers: { allow } })
  }
  if (hasBody && isSafeMethod(method))
    throw refusal('unexpected_body', `unexpected body in a ${method} request`)
  if (upgrade !== undefined && !webSocket) {
    throw refusal('upgrade_not_allowed', `the route ${prefix} allows no WebSocket connections`)
  }
  const upstreamPath = toUpstreamPath(target, route.paths)
  return advance(request, { passThroughRoute: route, upstreamPath, upgrade })
}

/** The rule of a route never includes callers without a credential, unless it says `anyone`. */
async function identify(request: MatchedByRoute, options: AuthenticateOptions): Promise<Identified> {
  const { allow, allowLinks } = request.passThroughRoute.settings
  if (allow === 'anyone') return request
  const identified = await authenticate(request, options, allowLinks)
  if (identified.principal.method === 'anonymous') throw new AuthenticationError('missing_credential')
  return identified
}

function authorize(request: Identified, trace: PassThroughTrace): Allowed {
  const { settings } = request.passThroughRoute
  trace.isAllowed = request.principal === undefined || allows(settings, request.principal)
  if (trace.isAllowed) return advance(request, { routePermit: new RoutePermit() })
  throw refusal('no_rule', `you are not allowed to use ${quoteForMessage(settings.prefix)}`)
}

async function limit(request: Allowed, response: WaitingResponse, options: AdmitOptions): Promise<Limited> {
  const { activeRequests, shedding, auditLog } = options
  const { head, passThroughRoute: route, principal, upstreamPath } = request
  const holder =
    principal === undefined ? `address ${getAddressKey(head.client)}` : getPrincipalKey(principal)
  shedding.admitDocument()
  holdActiveRequest(activeRequests, holder, response)
  if (mayChange(request) && auditLog.passThroughMode !== 'off') route.admitChange(holder, upstreamPath)
  if (!route.slots.take(holder)) await route.slots.wait(holder, response)
  let isHeld = true
  const releaseSlot = (): void => {
    if (isHeld) route.slots.release(holder)
    isHeld = false
  }
  if (response.isDestroyed) {
    releaseSlot()
    throw new ClientDisconnected('the client closed the connection while its request was pending')
  }
  response.onClose.add(releaseSlot)
  return advance(request, { releaseSlot })
}

/** Throws ServiceUnavailable (503) if the log cannot be written, unless the settings audit changes of objects otherwise. */
async function audit(request: Limited, { auditLog }: AdmitOptions): Promise<AdmittedRequest> {
  const mode = auditLog.passThroughMode
  if (!mayChange(request) || mode === 'off') return advance(request, { isRecorded: false })
  const { head, passThroughRoute, principal, upgrade, upstreamPath } = request
  const { requestId, method, client, peer } = head
  const { prefix } = passThroughRoute.settings
  const entry = {
    request: requestId,
    prefix,
    method,
    path: upstreamPath,
    upgrade,
    principal,
    client,
    peer,
  }
  const written = auditLog.recordPassThrough(entry, mode !== 'besteffort')
  await awaitAuditRecord(written, mode, 'the request was not forwarded')
  return advance(request, { isRecorded: true })
}

function mayChange({ head, upgrade }: MatchedByRoute): boolean {
  return upgrade !== undefined || !isSafeMethod(head.method)
}
