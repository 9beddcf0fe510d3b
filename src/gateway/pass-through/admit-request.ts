import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { PassThroughEntry } from '../../audit/records/audit-record.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { AuthenticationError } from '../../identity/authentication-error.ts'
import type { Principal } from '../../identity/principal.ts'
import { isSafeMethod } from '../../lib/http/is-safe-method.ts'
import { getAddressKey } from '../../limits/address-key.ts'
import { getPrincipalKey } from '../../limits/limit-key.ts'
import { Overloaded } from '../../limits/overload/load-shedder.ts'
import { awaitAuditRecord } from '../await-audit-record.ts'
import type { Received } from '../context.ts'
import type { DownstreamRequest } from '../downstream.ts'
import type { ReceivedHead } from '../received-head.ts'
import { authenticate, type AuthenticateOptions } from '../stages/authenticate.ts'
import type { LimitOptions } from '../stages/limit.ts'
import { receive, type ReceiveOptions } from '../stages/receive.ts'
import type { PassThroughTrace, Trace } from '../trace.ts'
import { allows, type PassThroughRoute } from './pass-through-route.ts'
import { toUpstreamPath } from './pass-through-target.ts'

export interface AdmitOptions
  extends ReceiveOptions, AuthenticateOptions, Pick<LimitOptions, 'activeRequests' | 'shedding'> {
  readonly auditLog: AuditLog
}

/** A request that the rule of its route allows, and that is in the audit log if it may change something. */
export interface AdmittedRequest {
  readonly head: ReceivedHead
  readonly upstreamPath: string
}

/** The request, and where capacity that it holds is released. */
interface RequestToAdmit {
  readonly request: DownstreamRequest
  readonly trace: Trace
  readonly upgrade?: 'websocket'
  readonly onClose: (release: () => void) => void
}

/**
 * Passes a request through the stages that the pipeline has for requests of the catalog, with the rule of the route
 * instead of policies. Throws CatalogError for each refusal.
 */
export async function admitRequest(
  { request, trace, upgrade, onClose }: RequestToAdmit,
  route: PassThroughRoute,
  options: AdmitOptions,
): Promise<AdmittedRequest> {
  const { settings } = route
  const passThrough: PassThroughTrace = { prefix: settings.prefix, isAllowed: undefined }
  trace.passThrough = passThrough
  const received = trace.enter('match', receive(request, options, trace.requestId))
  const { head } = received
  assertMethod(head, settings.methods)
  if (upgrade !== undefined && !settings.webSocket) {
    throw refusal('upgrade_not_allowed', `the route ${settings.prefix} allows no WebSocket connections`)
  }
  const upstreamPath = toUpstreamPath(head.target, route.paths)
  trace.enter('authenticate', received)
  const principal = settings.allow === 'anyone' ? undefined : await authenticateCaller(received, options)
  trace.enter('authorize', principal === undefined ? received : { ...received, principal })
  passThrough.isAllowed = principal === undefined || allows(settings, principal)
  if (!passThrough.isAllowed) {
    throw refusal('no_rule', `you are not allowed to use ${quoteForMessage(settings.prefix)}`)
  }
  trace.enter('limit', trace.progress)
  takeCapacity(principal === undefined ? `address ${getAddressKey(head.client)}` : getPrincipalKey(principal))
  if (upgrade !== undefined || !isSafeMethod(head.method)) {
    trace.enter('audit', trace.progress)
    const { requestId, method, client } = head
    const path = upstreamPath
    const entry = { request: requestId, prefix: settings.prefix, method, path, upgrade, principal, client }
    await writeRecord(options.auditLog, entry)
  }
  trace.enter('forward', trace.progress)
  return { head, upstreamPath }

  function takeCapacity(holder: string): void {
    const { activeRequests, shedding } = options
    shedding.admitDocument()
    if (!activeRequests.take(holder)) throw new Overloaded()
    onClose(() => activeRequests.release(holder))
  }
}

function assertMethod({ method, hasBody }: ReceivedHead, methods: readonly string[]): void {
  if (!methods.includes(method)) {
    const allow = methods.join(', ')
    throw refusal(
      'method_not_allowed',
      `method ${quoteForMessage(method)} is not allowed here; use ${allow}`,
      {
        headers: { allow },
      },
    )
  }
  if (hasBody && isSafeMethod(method))
    throw refusal('unexpected_body', `unexpected body in a ${method} request`)
}

/** The rule of a route never includes callers without a credential, unless it says `anyone`. */
async function authenticateCaller(received: Received, options: AuthenticateOptions): Promise<Principal> {
  const { principal } = await authenticate(received, options)
  if (principal.method === 'anonymous') throw new AuthenticationError('missing_credential')
  return principal
}

/** Resolves when the record is on disk, unless the settings audit changes of objects otherwise. */
async function writeRecord(auditLog: AuditLog, entry: PassThroughEntry): Promise<void> {
  const mode = auditLog.passThroughMode
  if (mode === 'off') return
  if (mode === 'besteffort') {
    // The log counts the failure.
    auditLog.recordPassThrough(entry, false).catch(() => undefined)
    return
  }
  await awaitAuditRecord(auditLog.recordPassThrough(entry), 'the request was not forwarded')
}
