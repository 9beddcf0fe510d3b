import type { Readable } from 'node:stream'
import type { AuditLog } from '../../audit/log/audit-log.ts'
import { refusal, type CatalogError } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { webSocketMethod } from '../../config/pass-through-settings.ts'
import { AuthenticationError } from '../../identity/authentication-error.ts'
import { parseConnectionTokens } from '../../lib/http/connection-tokens.ts'
import { getAddressKey } from '../../lib/net/address-key.ts'
import { getPrincipalKey } from '../../limits/limit-key.ts'
import { Overloaded, type LoadShedder } from '../../limits/overload/load-shedder.ts'
import { awaitAuditRecord } from '../await-audit-record.ts'
import { maxDecisionAgeMs } from '../bounds.ts'
import { advance, type Authenticated, type Received } from '../context.ts'
import type { DownstreamRequest } from '../downstream.ts'
import { authenticate, type AuthenticateOptions } from '../stages/authenticate.ts'
import { receive, type ReceiveOptions } from '../stages/receive.ts'
import type { Trace } from '../trace.ts'
import { allows, type PassThroughRoute } from './pass-through-route.ts'
import { isBelowPrefix, toUpstreamPath } from './pass-through-target.ts'

export interface AdmitOptions extends ReceiveOptions, AuthenticateOptions {
  readonly shedding: LoadShedder
  readonly auditLog: AuditLog
}

/** A request that the rule of its route allows; without a principal if the route is for anyone. */
export interface AllowedRequest extends Received, Partial<Pick<Authenticated, 'principal'>> {
  readonly upstreamPath: string
  readonly isUpgrade: boolean
  /** The key of the caller for limits. */
  readonly holder: string
}

/**
 * Passes a request through the stages of the pipeline that know nothing of the catalog, with the rule of the route
 * instead of policies. Rejects with CatalogError for each refusal.
 */
export async function allowRequest(
  request: DownstreamRequest,
  trace: Trace,
  route: PassThroughRoute,
  options: AdmitOptions,
): Promise<AllowedRequest> {
  const { allow, prefix } = route.settings
  const rule = (trace.passThrough = { prefix, isAllowed: undefined as boolean | undefined })
  const received = trace.enter('match', receive(request, options, trace.requestId))
  const { head } = received
  // The router of Fastify decodes targets.
  if (!isBelowPrefix(head.target, prefix)) throw refusal('unknown_route', 'unknown route')
  const isUpgrade = assertMethod(received, request, route)
  const matched = advance(received, { isUpgrade, upstreamPath: toUpstreamPath(head.target, route.paths) })
  if (allow === 'anyone') {
    rule.isAllowed = true
    return advance(matched, { holder: `address ${getAddressKey(head.client)}` })
  }
  const identified = await authenticate(trace.enter('authenticate', matched), options)
  const { principal } = trace.enter('authorize', identified)
  if (principal.method === 'anonymous') throw new AuthenticationError('missing_credential')
  rule.isAllowed = allows(route.settings, principal)
  if (!rule.isAllowed) throw notAllowedError(route.settings)
  return advance(identified, { holder: getPrincipalKey(principal) })
}

/**
 * Passes on the body of an allowed request while its caller is allowed: asks when a chunk arrives, and before the last byte or
 * the end of the chunked coding. Throws CatalogError otherwise, so that the upstream gets no complete body.
 */
export async function* checkUpload(
  body: Readable,
  { head, principal, holder }: AllowedRequest,
  { settings }: PassThroughRoute,
  { authenticator }: AdmitOptions,
): AsyncGenerator<Buffer> {
  let checkedAt = performance.now()
  let received = 0
  async function check(): Promise<void> {
    checkedAt = performance.now()
    if (principal === undefined) return
    const again = await authenticator.authenticate(head.credentials)
    if (getPrincipalKey(again) !== holder || !allows(settings, again)) throw notAllowedError(settings)
  }
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    received += chunk.length
    if (received === head.contentLength || performance.now() - checkedAt > maxDecisionAgeMs) await check()
    yield chunk
  }
  if (received !== head.contentLength) await check()
}

function notAllowedError({ prefix }: PassThroughRoute['settings']): CatalogError {
  return refusal('no_rule', `you are not allowed to use ${quoteForMessage(prefix)}`)
}

/** Returns whether the request asks for a WebSocket connection (RFC 6455, section 4.1) that the route allows. */
function assertMethod(
  { head: { method, hasBody } }: Received,
  request: DownstreamRequest,
  { settings }: PassThroughRoute,
): boolean {
  const { prefix } = settings
  const methods: readonly string[] = settings.methods
  const headers = request.headersByName()
  const isUpgrade = headers['upgrade'] !== undefined
  if (isUpgrade && !methods.includes(webSocketMethod))
    throw refusal('upgrade_not_allowed', `the route ${prefix} allows no WebSocket connections`)
  if (!isUpgrade && !methods.includes(method)) {
    const allowed = methods.filter((each) => each !== webSocketMethod).join(', ')
    const message = `method ${quoteForMessage(method)} is not allowed here; use ${allowed}`
    throw refusal('method_not_allowed', message, { headers: { allow: allowed } })
  }
  if (hasBody && (isUpgrade || isSafeMethod(method)))
    throw refusal('unexpected_body', `unexpected body in a ${method} request`)
  if (isUpgrade && !isWebSocketHandshake(method, headers))
    throw refusal('upgrade_not_allowed', 'malformed or unknown upgrade; expected a WebSocket handshake')
  return isUpgrade
}

function isWebSocketHandshake(method: string, headers: Readonly<Record<string, string>>): boolean {
  return (
    method === 'GET' &&
    headers['upgrade']?.toLowerCase() === 'websocket' &&
    parseConnectionTokens(headers['connection'] ?? '').includes('upgrade') &&
    headers['sec-websocket-version'] === '13' &&
    /^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')
  )
}

/** Takes capacity of the route, and returns what releases it. Throws Overloaded (503) or LimitExceeded (429). */
export function holdCapacity(
  request: AllowedRequest,
  { capacity, admitChange }: PassThroughRoute,
  { shedding }: AdmitOptions,
): () => void {
  const { holder, upstreamPath } = request
  shedding.admitDocument()
  if (mayChange(request)) admitChange(holder, upstreamPath)
  if (!capacity.take(holder))
    throw new Overloaded('this caller has its share of the requests of this route at a time')
  return () => capacity.release(holder)
}

/** Records a change before it is forwarded. Rejects with ServiceUnavailable (503) if the log must have it and cannot. */
export async function auditChange(
  request: AllowedRequest,
  { settings: { prefix } }: PassThroughRoute,
  { auditLog }: AdmitOptions,
): Promise<void> {
  if (!mayChange(request)) return
  const { mode } = auditLog
  const { requestId, method, client, peer } = request.head
  const { upstreamPath: path, principal, isUpgrade } = request
  const upgrade = isUpgrade ? ('websocket' as const) : undefined
  const entry = { request: requestId, prefix, method, path, upgrade, principal, client, peer }
  const written = auditLog.recordPassThrough(entry, mode !== 'besteffort')
  await awaitAuditRecord(written, mode, 'the request was not forwarded')
}

function mayChange({ head, isUpgrade }: AllowedRequest): boolean {
  return isUpgrade || !isSafeMethod(head.method)
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether requests with this method only read (RFC 9110, section 9.2.1). */
function isSafeMethod(method: string): boolean {
  return safeMethods.has(method)
}
