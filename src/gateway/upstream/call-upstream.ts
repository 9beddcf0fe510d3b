import {
  runAttempt,
  type UpstreamCallOptions,
  type UpstreamResponse,
  AttemptFailed,
} from './upstream-attempt.ts'
import type { Upstream } from './upstream.ts'
import { getFailureReason, isTransportFailure, isUnavailableResponse } from './upstream-error.ts'
import type { OutgoingRequest } from '../../http1/index.ts'
import { removeHeaders } from '../../lib/index.ts'
import { refusal } from '../../catalog-api/index.ts'
import { ClientDisconnected } from '../downstream.ts'

/** Headers that identify the span that a request continues (W3C Trace Context). */
const traceHeaders: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/**
 * Runs one attempt with the current credential of the gateway: as a span if traces are on, whose trace headers replace those of the
 * client. Attempts count from 1.
 */
async function runTracedAttempt(
  upstream: Upstream,
  request: OutgoingRequest,
  options: UpstreamCallOptions,
  attempt: number,
): Promise<UpstreamResponse> {
  const own = upstream.own.getHeaders()
  if (options.spans === undefined)
    return runAttempt(upstream, { ...request, headers: [...request.headers, ...own] }, options, attempt > 1)
  const { protocol, hostname, port } = new URL(upstream.origin)
  const { method } = request
  const span = options.spans.startCall(method, {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'catalog_gateway.upstream': upstream.name,
    ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
  })
  const headers = [...removeHeaders(request.headers, traceHeaders), ...own, ...span.headers]
  try {
    const response = await runAttempt(upstream, { ...request, headers }, options, attempt > 1)
    const { status } = response
    const isFailure = status >= 400
    const attributes = {
      'http.response.status_code': status,
      ...(isFailure && { 'error.type': String(status) }),
    }
    span.end({ attributes, isFailure })
    return response
  } catch (error) {
    span.end({ attributes: { 'error.type': getFailureReason(error) }, isFailure: true })
    throw error
  }
}

/**
 * Sends a request to an upstream, with the headers of each of its requests, when a slot of its pool is free and the
 * circuit is closed. A request that `mayRetry` (a read whose body is in memory) is retried once if the connection failed
 * before the response began; any request in memory, if the upstream refuses a credential that has been replaced. Other
 * responses of any status are not retried: a 503 with `retry-after` states when the client can retry, and
 * retries of the gateway would only add to the load. Rejects with AttemptFailed if the request was sent, else with
 * ClientDisconnected or ServiceUnavailable (503).
 */
export async function callUpstream(
  upstream: Upstream,
  request: OutgoingRequest,
  options: UpstreamCallOptions,
  mayRetry: boolean,
): Promise<UpstreamResponse> {
  assertCircuitClosed(upstream)
  const { health, credentials } = upstream
  const slots = upstream.slots[options.pool]
  const { holder } = options
  if (!slots.take(holder)) await slots.wait(holder, options.response)
  try {
    if (options.response.isDestroyed) throw new ClientDisconnected()
    for (let attempt = 1; ; attempt += 1) {
      assertCircuitClosed(upstream)
      await options.checkDecision?.('end')
      const sent = credentials.current
      try {
        const response = await runTracedAttempt(upstream, request, options, attempt)
        if (response.status === 401) await credentials.refresh()
        const isReplaced = response.status === 401 && credentials.current !== sent
        if (isReplaced && attempt === 1 && isInMemory(request)) continue
        if (isUnavailableResponse(response)) health.recordFailure()
        else health.recordSuccess()
        return response
      } catch (error) {
        // Neither a client that disconnected, nor a timeout, which one large request may cause.
        if (!(error instanceof AttemptFailed) || !isTransportFailure(error.cause)) throw error
        if (error.progress === 'unsent' || !isIncompleteUpload(request)) health.recordFailure()
        const isLast = !mayRetry || attempt > 1 || error.progress === 'responding'
        if (isLast || health.circuit === 'open') throw error
      }
    }
  } finally {
    slots.release(holder)
  }
}

function isInMemory({ body }: OutgoingRequest): boolean {
  return body === null || Buffer.isBuffer(body)
}

/** Throws ServiceUnavailable (503) with `retry-after` if the circuit of the upstream is open. */
export function assertCircuitClosed({ health, bounds }: Upstream): void {
  if (health.circuit === 'closed') return
  const seconds = Math.max(1, Math.ceil(bounds.probeIntervalMs / 1000))
  throw refusal(
    'circuit_open',
    `the upstream failed repeatedly and is not asked (circuit open); retry in ${seconds} s`,
    { headers: { 'retry-after': String(seconds) } },
  )
}

function isIncompleteUpload({ body }: OutgoingRequest): boolean {
  return body !== null && 'isComplete' in body && !body.isComplete
}
