import type { Readable } from 'node:stream'
import type { AuditLog } from '../../audit/index.ts'
import { refusal, type CatalogError } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { type PassThroughRouteSettings, webSocketMethod } from '../../config/index.ts'
import { AuthenticationError, type Principal } from '../../identity/index.ts'
import { parseConnectionTokens } from '../../lib/http/header-list.ts'
import { getAddressKey } from '../../lib/net/addresses.ts'
import { getPrincipalKey } from '../../limits/limit-key.ts'
import { Overloaded, type LoadShedder } from '../../limits/overload/load-shedder.ts'
import { awaitAuditRecord } from '../await-audit-record.ts'
import { maxDecisionAgeMs } from '../bounds.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import type { Received } from '../context.ts'
import type { DownstreamRequest } from '../downstream.ts'
import type { ReceivedHead } from '../received-head.ts'
import { authenticate, type AuthenticateOptions } from '../stages/authenticate.ts'
import { receive, type ReceiveOptions } from '../stages/receive.ts'
import type { Trace } from '../trace.ts'
import type { PassThroughRoute } from './pass-through-route.ts'
import { isBelowPrefix, toUpstreamPath } from './pass-through-target.ts'

export interface AdmitOptions extends ReceiveOptions, AuthenticateOptions {
  readonly shedding: LoadShedder
  readonly auditLog: AuditLog
}

/** A request that its route allows, within its limits, and that is in the audit log if it may change something. */
export interface AdmittedRequest {
  readonly head: ReceivedHead
  readonly route: PassThroughRoute
  readonly upstreamPath: string
  readonly isUpgrade: boolean
  /** Undefined if the route is for anyone. */
  readonly principal: Principal | undefined
  /** The key of the caller for limits. */
  readonly holder: string
}

/**
 * Passes a request through the stages of the pipeline that know nothing of the catalog, with the rule of its route instead
 * of policies. Holds a part of the capacity of the route until `ended` is aborted. Rejects with CatalogError for each
 * refusal.
 */
export async function admitRequest(
  request: DownstreamRequest,
  trace: Trace,
  ended: AbortSignal,
  routes: readonly PassThroughRoute[],
  options: AdmitOptions,
): Promise<AdmittedRequest> {
  const received = trace.enter('match', receive(request, options, trace.requestId))
  const { head } = received
  // The router of Fastify decodes targets.
  const route = routes.find(({ settings }) => isBelowPrefix(head.target, settings.prefix))
  if (route === undefined) throw refusal('unknown_route', 'unknown route')
  const { prefix } = route.settings
  const rule = (trace.passThrough = { prefix, isAllowed: undefined as boolean | undefined })
  const isUpgrade = assertMethod(head, request, route.settings)
  const upstreamPath = toUpstreamPath(head.target, route.paths)
  const principal = await identify(received, trace, route.settings, options)
  rule.isAllowed = principal === undefined || allows(route.settings, principal)
  if (!rule.isAllowed) throw notAllowedError(route.settings)
  trace.enter('limit', received)
  const holder = principal ? getPrincipalKey(principal) : `address ${getAddressKey(head.client)}`
  const admitted = { head, route, upstreamPath, isUpgrade, principal, holder }
  const mayChange = isUpgrade || !safeMethods.has(head.method)
  options.shedding.admitDocument()
  if (mayChange) route.admitChange(holder, upstreamPath)
  if (ended.aborted) throw new ClientDisconnected('the client closed the connection before it was admitted')
  if (!route.capacity.take(holder))
    throw new Overloaded('this caller has its share of the requests of this route at a time')
  ended.addEventListener('abort', () => route.capacity.release(holder))
  trace.enter('audit', received)
  if (mayChange) await recordChange(admitted, options.auditLog)
  trace.enter('send', received)
  return admitted
}

/** Undefined if the route is for anyone: a credential is not looked at. */
async function identify(
  received: Received,
  trace: Trace,
  { allow }: PassThroughRouteSettings,
  options: AuthenticateOptions,
): Promise<Principal | undefined> {
  if (allow === 'anyone') return undefined
  const identified = await authenticate(trace.enter('authenticate', received), options)
  const { principal } = trace.enter('authorize', identified)
  if (principal.method === 'anonymous') throw new AuthenticationError('missing_credential')
  return principal
}

/** Whether the rule of a route allows an authenticated caller. */
function allows({ allow }: PassThroughRouteSettings, { name, groups }: Principal): boolean {
  if (allow === 'anyone' || allow.any === true) return true
  return (allow.users ?? []).includes(name) || (allow.groups ?? []).some((group) => groups.has(group))
}

function notAllowedError({ prefix }: PassThroughRouteSettings): CatalogError {
  return refusal('no_rule', `you are not allowed to use ${quoteForMessage(prefix)}`)
}

/** Methods that only read (RFC 9110, section 9.2.1). */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Returns whether the request asks for a WebSocket connection (RFC 6455, section 4.1), if the route allows it. */
function assertMethod(
  { method, hasBody }: ReceivedHead,
  request: DownstreamRequest,
  { prefix, methods }: PassThroughRouteSettings,
): boolean {
  const { upgrade, connection = '' } = request.headersByName()
  const allowed: readonly string[] = methods.filter((each) => each !== webSocketMethod)
  if (upgrade === undefined && !allowed.includes(method)) {
    const message = `method ${quoteForMessage(method)} is not allowed here; use ${allowed.join(', ')}`
    throw refusal('method_not_allowed', message, { headers: { allow: allowed.join(', ') } })
  }
  if (hasBody && safeMethods.has(method))
    throw refusal('unexpected_body', `unexpected body in a ${method} request`)
  if (upgrade === undefined) return false
  if (!methods.includes(webSocketMethod))
    throw refusal('upgrade_not_allowed', `the route ${prefix} allows no WebSocket connections`)
  const isWebSocket = method === 'GET' && upgrade.toLowerCase() === 'websocket'
  if (!isWebSocket || !parseConnectionTokens(connection).includes('upgrade'))
    throw refusal('upgrade_not_allowed', 'malformed or unknown upgrade; expected a WebSocket handshake')
  return true
}

/** Records a change before it is forwarded. Rejects with ServiceUnavailable (503) if the log must have it and cannot. */
async function recordChange(
  { head, route, upstreamPath, isUpgrade, principal }: AdmittedRequest,
  auditLog: AuditLog,
): Promise<void> {
  const { mode } = auditLog
  const { requestId: request, method, client, peer } = head
  const { prefix } = route.settings
  const upgrade = isUpgrade ? ('websocket' as const) : undefined
  const entry = { request, prefix, method, path: upstreamPath, upgrade, principal, client, peer }
  const written = auditLog.recordPassThrough(entry, mode !== 'besteffort')
  await awaitAuditRecord(written, mode, 'the request was not forwarded')
}

/**
 * Passes on the body of a request while its caller is allowed: asks when a chunk arrives, and before the last byte or the
 * end of the chunked coding. Throws CatalogError otherwise, so that the upstream gets no complete body.
 */
export async function* checkUpload(
  body: Readable,
  { head, principal, holder, route }: AdmittedRequest,
  { authenticator }: AuthenticateOptions,
): AsyncGenerator<Buffer> {
  let checkedAt = performance.now()
  let received = 0
  async function check(): Promise<void> {
    checkedAt = performance.now()
    if (principal === undefined) return
    const again = await authenticator.authenticate(head.credentials)
    if (getPrincipalKey(again) !== holder || !allows(route.settings, again))
      throw notAllowedError(route.settings)
  }
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    received += chunk.length
    if (received === head.contentLength || performance.now() - checkedAt > maxDecisionAgeMs) await check()
    yield chunk
  }
  if (received !== head.contentLength) await check()
}
