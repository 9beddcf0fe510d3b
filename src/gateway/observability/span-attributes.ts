import type { Attributes } from '@opentelemetry/api'
import type { TracesSettings } from '../../config/traces-settings.ts'
import type { RequestEnd } from './request-end.ts'
import type { Trace } from '../trace.ts'

/**
 * Creates the attributes of the request span. Callers and objects are included only if the settings ask for them,
 * credentials never. Names follow the HTTP semantic conventions of OpenTelemetry, if there is one.
 */
export function createSpanAttributes(
  trace: Trace,
  { operation, decision, status, refusal }: RequestEnd,
  include: TracesSettings['include'],
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
    ...(include.includes('client') && {
      'client.address': trace.client,
      ...(trace.peer !== undefined && { 'network.peer.address': trace.peer }),
    }),
    ...(include.includes('principal') && principal && { 'enduser.id': principal.name }),
    ...(include.includes('id') && route && { 'catalog_gateway.id': [...route.id] }),
  }
}
