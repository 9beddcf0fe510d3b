import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import type { AuditLog } from '../../audit/index.ts'
import { CatalogError, quoteForMessage, refusal } from '../../catalog-api/index.ts'
import { type PassThroughRouteSettings, webSocketMethod } from '../../config/index.ts'
import { AuthenticationError, type Principal } from '../../identity/index.ts'
import { getAddressKey } from '../../lib/index.ts'
import {
  FairCapacity,
  getPrincipalKey,
  LimitExceeded,
  type LoadShedder,
  Overloaded,
  TokenBuckets,
} from '../../limits/index.ts'
import { createUndiciConnector, type Outbound } from '../../outbound/index.ts'
import { awaitAuditRecord } from '../stages/audit.ts'
import { maxDecisionAgeMs, passThroughBounds, upstreamBounds } from '../bounds.ts'
import { ClientDisconnected, type ReceivedHead } from '../downstream.ts'
import type { Received } from '../context.ts'
import { authenticate, type AuthenticateOptions } from '../stages/authenticate.ts'
import type { ReceiveOptions } from '../stages/receive.ts'
import type { Trace } from '../trace.ts'
import { createPassThroughPaths, isBelowPrefix, toUpstreamPath } from './forwarded.ts'

export interface AdmitOptions extends ReceiveOptions, AuthenticateOptions {
  readonly shedding: LoadShedder
  readonly auditLog: AuditLog
}

/** An open pass-through route. */
export type PassThroughRoute = Awaited<ReturnType<typeof openRoute>>

/** Opens the upstream and the limits of a route. */
export async function openRoute(
  settings: PassThroughRouteSettings,
  catalogs: readonly URL[],
  outbound: Outbound,
) {
  const { prefix } = settings
  const { maxRequests, changesPerSecond, responseHeadersTimeoutMs } = passThroughBounds
  const upstream = new URL(settings.upstream)
  const opener = await outbound.openClient(`passThrough.${prefix}`, {})
  const connect = createUndiciConnector(opener, upstreamBounds.connectTimeoutMs)
  return {
    settings,
    paths: createPassThroughPaths(prefix, upstream, catalogs),
    /** Of requests and WebSocket connections at a time. */
    capacity: new FairCapacity(maxRequests),
    /** Of audited requests, by caller: each adds a record to the log that all callers share. */
    changes: new TokenBuckets({ perSecond: changesPerSecond, burst: 10 * changesPerSecond }),
    /** Of those of all callers without an identity together, who have many addresses. */
    changesOfStrangers: new TokenBuckets({ perSecond: 10 * changesPerSecond, burst: 100 * changesPerSecond }),
    /** Scheme, host and port of the upstream. */
    origin: new URL(upstream.origin),
    connect,
    // A stream of events may be silent for long.
    pool: new Pool(upstream.origin, { connect, headersTimeout: responseHeadersTimeoutMs, bodyTimeout: 0 }),
  }
}

/** A request from its head to the end of its response or WebSocket connection. Admission adds where it goes. */
export interface ProxiedRequest {
  readonly trace: Trace
  readonly isUpgrade: boolean
  /** Aborted at that end, or with the error that ends it. */
  readonly end: AbortController
  route?: PassThroughRoute
  upstreamPath?: string
}

/**
 * Passes a request through the stages of the pipeline that know nothing of the catalog, with the rule of its route instead
 * of policies. It holds a part of the capacity of the route until its end, and is ended if the rule does not allow the caller
 * any more. Rejects with CatalogError for each refusal.
 */
export async function admitRequest(
  received: Received,
  proxied: ProxiedRequest,
  routes: readonly PassThroughRoute[],
  options: AdmitOptions,
): Promise<void> {
  const { head } = received
  const { trace, isUpgrade, end } = proxied
  // The router of Fastify decodes targets.
  const route = routes.find(({ settings }) => isBelowPrefix(head.target, settings.prefix))
  if (route === undefined) throw refusal('unknown_route', 'unknown route')
  const { settings, capacity } = route
  const rule = (trace.passThrough = { prefix: settings.prefix, isAllowed: undefined as boolean | undefined })
  assertMethod(head, isUpgrade, settings)
  const upstreamPath = toUpstreamPath(head.target, route.paths)
  const principal = await identify(received, trace, settings, options)
  rule.isAllowed = principal === undefined || allows(settings, principal)
  if (!rule.isAllowed) throw notAllowedError(settings)
  trace.enter('limit', received)
  options.shedding.admitDocument()
  const holder = principal ? getPrincipalKey(principal) : `address ${getAddressKey(head.client)}`
  const mayChange = isUpgrade || !safeMethods.has(head.method)
  if (mayChange) takeChange(route, upstreamPath, holder, principal === undefined)
  if (end.signal.aborted)
    throw new ClientDisconnected('the client closed the connection before it was admitted')
  if (!capacity.take(holder))
    throw new Overloaded('this caller has its share of the requests of this route at a time')
  end.signal.addEventListener('abort', () => capacity.release(holder))
  trace.enter('audit', received)
  if (mayChange) {
    const { requestId: request, method, client, peer } = head
    const upgrade = isUpgrade ? ('websocket' as const) : undefined
    const entry = { request, prefix: settings.prefix, method, path: upstreamPath, upgrade }
    const { mode } = options.auditLog
    const caller = { principal, client, peer }
    const written = options.auditLog.recordPassThrough({ ...entry, ...caller }, mode !== 'besteffort')
    await awaitAuditRecord(written, mode, 'the request was not forwarded')
  }
  if (principal !== undefined) void watchCaller(head, settings, holder, end, options)
  trace.enter('send', received)
  Object.assign(proxied, { route, upstreamPath })
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

function assertMethod(
  { method, hasBody }: ReceivedHead,
  isUpgrade: boolean,
  { prefix, methods }: PassThroughRouteSettings,
): void {
  if (isUpgrade && !methods.includes(webSocketMethod))
    throw refusal('upgrade_not_allowed', `the route ${prefix} allows no WebSocket connections`)
  const allowed: readonly string[] = methods.filter((each) => each !== webSocketMethod)
  if (!isUpgrade && !allowed.includes(method)) {
    const message = `method ${quoteForMessage(method)} is not allowed here; use ${allowed.join(', ')}`
    throw refusal('method_not_allowed', message, { headers: { allow: allowed.join(', ') } })
  }
  if (hasBody && safeMethods.has(method))
    throw refusal('unexpected_body', `unexpected body in a ${method} request`)
}

/** Bytes of a path for each change, so that long paths do not fill the audit log either. */
const bytesPerChange = 1024

/** Throws LimitExceeded (429): a change that is not recorded must not be forwarded. */
function takeChange(
  { settings, changes, changesOfStrangers }: PassThroughRoute,
  upstreamPath: string,
  holder: string,
  isStranger: boolean,
): void {
  const now = performance.now()
  const tokens = Math.ceil(upstreamPath.length / bytesPerChange)
  const waitForAll = isStranger ? changesOfStrangers.waitMs('', tokens, now) : 0
  const waitMs = Math.max(changes.waitMs(holder, tokens, now), waitForAll)
  if (waitMs > 0) {
    const message = `the limit of the route ${settings.prefix} on recorded requests is exceeded`
    throw new LimitExceeded('rate_limited', message, waitMs)
  }
  changes.take(holder, tokens, now)
  if (isStranger) changesOfStrangers.take('', tokens, now)
}

/** Decides again about the caller of an upload, a stream or a WebSocket connection while it lasts. */
async function watchCaller(
  { credentials }: ReceivedHead,
  settings: PassThroughRouteSettings,
  holder: string,
  end: AbortController,
  { authenticator }: AuthenticateOptions,
): Promise<void> {
  for (;;) {
    try {
      await pause(maxDecisionAgeMs, undefined, { signal: end.signal, ref: false })
      const principal = await authenticator.authenticate(credentials)
      if (getPrincipalKey(principal) !== holder || !allows(settings, principal))
        throw notAllowedError(settings)
    } catch (error) {
      // An issuer that does not respond ends nothing that it allowed before.
      if (error instanceof CatalogError && error.kind === 'ServiceUnavailable') continue
      end.abort(error)
      return
    }
  }
}
