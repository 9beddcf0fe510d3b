import type { Attributes } from '@opentelemetry/api'
import type { CatalogError } from '../../catalog-api/catalog-error.ts'
import { isFailureStatus } from '../changes/outcome.ts'
import type { ObservedResponse } from '../downstream.ts'
import type { Trace } from '../trace.ts'

/** The end of a request, for its log line, metrics, spans and the console. */
export interface RequestEnd {
  /** Name of the operation or document, or `unknown`. */
  readonly operation: string
  /** Status of the response; 499 if the client disconnected first. */
  readonly status: number
  /** Decision of the policies; `none` if they were not asked, or not about the body. */
  readonly decision: 'allow' | 'deny' | 'none'
  readonly refusal: CatalogError | undefined
  /** Milliseconds of performance.now(). */
  readonly endedAt: number
}

/** Receives the end of each request. */
export type RequestSink = (trace: Trace, response: ObservedResponse, end: RequestEnd) => void

/** Ends the spans of a request, if traces are on. */
export const endSpans: RequestSink = (trace, _response, end) => {
  if (trace.spans === undefined) return
  const attributes = trace.spans.isSampled ? createSpanAttributes(trace, end) : {}
  const isFailure = isFailureStatus(end.status)
  trace.spans.end(
    end.operation,
    { attributes, isFailure },
    end.refusal && { 'error.type': end.refusal.reason },
  )
}

/**
 * Creates the attributes of the request span: with the principal, and without its address, the object and credentials. Names follow the HTTP semantic conventions of OpenTelemetry, if there is one.
 */
function createSpanAttributes(
  trace: Trace,
  { operation, decision, status, refusal }: RequestEnd,
): Attributes {
  const { upstream } = trace
  const { route, principal } = trace.progress
  return {
    'catalog_gateway.request': trace.requestId,
    'catalog_gateway.operation': operation,
    'catalog_gateway.decision': decision,
    'http.response.status_code': status,
    'http.request.method': trace.method,
    ...(route && { 'http.route': route.operation.path }),
    ...(upstream !== undefined && { 'catalog_gateway.upstream': upstream }),
    ...(refusal && { 'error.type': refusal.reason, 'catalog_gateway.stage': trace.stage }),
    ...(principal && { 'enduser.id': principal.name }),
  }
}
