import type { RequestSpans } from '../../telemetry/request-spans.ts'
import { exchange, type Client, type UpstreamAnswer, type UpstreamRequest } from '../upstream/exchange.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { reasonOfFailure } from '../upstream/upstream-failure.ts'

/** The headers that name the span that a request continues (W3C Trace Context). */
const traceHeaders: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/**
 * One exchange with an upstream. Where the request has spans, it is one of them, and what it sends continues that one
 * instead of the span of the client; otherwise the headers of the client pass as they are. Attempts count from 1.
 */
export function tracedExchange(
  upstream: Upstream,
  request: UpstreamRequest,
  client: Client,
  attempt: number,
): Promise<UpstreamAnswer> {
  return client.spans === undefined
    ? exchange(upstream, request, client, attempt > 1)
    : exchangeInSpan(upstream, request, client, attempt, client.spans)
}

async function exchangeInSpan(
  upstream: Upstream,
  request: UpstreamRequest,
  client: Client,
  attempt: number,
  spans: RequestSpans,
): Promise<UpstreamAnswer> {
  const span = beginCall(spans, upstream, request, attempt)
  const headers = [...withoutTraceHeaders(request.headers), ...span.headers]
  try {
    const answer = await exchange(upstream, { ...request, headers }, client, attempt > 1)
    const isFailure = answer.status >= 400
    span.end({
      attributes: {
        'http.response.status_code': answer.status,
        ...(isFailure && { 'error.type': String(answer.status) }),
      },
      isFailure,
    })
    return answer
  } catch (error) {
    span.end({ attributes: { 'error.type': reasonOfFailure(error) }, isFailure: true })
    throw error
  }
}

function beginCall(spans: RequestSpans, upstream: Upstream, { method }: UpstreamRequest, attempt: number) {
  const { protocol, hostname, port } = new URL(upstream.origin)
  return spans.call(method, {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'catalog_gateway.upstream': upstream.name,
    ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
  })
}

function withoutTraceHeaders(headers: readonly string[]): string[] {
  return headers.filter((_, index) => !traceHeaders.has(headers[index - (index % 2)] ?? ''))
}
