import type { Attributes } from '@opentelemetry/api'
import type { RequestEnd } from './request-end.ts'
import type { Trace } from '../trace.ts'

/**
 * Creates the attributes of the request span: with the principal, and without its address, the object and credentials. Names follow the HTTP semantic conventions of OpenTelemetry, if there is one.
 */
export function createSpanAttributes(
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
