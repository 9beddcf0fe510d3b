import type { RequestSpans } from '../../observability/traces/request-spans.ts'
import {
  runAttempt,
  type UpstreamCallOptions,
  type UpstreamResponse,
  type UpstreamRequest,
} from './upstream-attempt.ts'
import type { Upstream } from './upstream.ts'
import { getFailureReason } from './attempt-failure.ts'
import { removeHeaders } from '../../lib/http/header-list.ts'

/** Headers that identify the span that a request continues (W3C Trace Context). */
const traceHeaders: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/**
 * Runs one attempt. If the request has spans, the attempt is one of them, and its trace headers replace those of the
 * client; otherwise the headers of the client are forwarded. Attempts count from 1.
 */
export function runTracedAttempt(
  upstream: Upstream,
  request: UpstreamRequest,
  options: UpstreamCallOptions,
  attempt: number,
): Promise<UpstreamResponse> {
  return options.spans === undefined
    ? runAttempt(upstream, request, options, attempt > 1)
    : runAttemptInSpan(upstream, request, options, attempt, options.spans)
}

async function runAttemptInSpan(
  upstream: Upstream,
  request: UpstreamRequest,
  options: UpstreamCallOptions,
  attempt: number,
  spans: RequestSpans,
): Promise<UpstreamResponse> {
  const span = startClientSpan(spans, upstream, request, attempt)
  const headers = [...removeHeaders(request.headers, traceHeaders), ...span.headers]
  try {
    const response = await runAttempt(upstream, { ...request, headers }, options, attempt > 1)
    const isFailure = response.status >= 400
    span.end({
      attributes: {
        'http.response.status_code': response.status,
        ...(isFailure && { 'error.type': String(response.status) }),
      },
      isFailure,
    })
    return response
  } catch (error) {
    span.end({ attributes: { 'error.type': getFailureReason(error) }, isFailure: true })
    throw error
  }
}

function startClientSpan(
  spans: RequestSpans,
  upstream: Upstream,
  { method }: UpstreamRequest,
  attempt: number,
) {
  const { protocol, hostname, port } = new URL(upstream.origin)
  return spans.startCall(method, {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'catalog_gateway.upstream': upstream.name,
    ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
  })
}
