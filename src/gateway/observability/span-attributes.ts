import type { Attributes } from '@opentelemetry/api'
import type { TracesSettings } from '../../config/traces-settings.ts'
import type { RequestEnd } from './request-end.ts'
import type { Trace } from '../trace.ts'

/**
 * What the span of a request says: nothing of who called and on what, unless the settings ask for it, and never a
 * credential. Names are those of the semantic conventions of HTTP, and our own where there are none.
 */
export function createSpanAttributes(
  trace: Trace,
  { operation, decision, status, refusal }: RequestEnd,
  method: string | undefined,
  include: TracesSettings['include'],
): Attributes {
  const { upstream } = trace
  const { route, principal } = trace.progress
  return {
    'catalog_gateway.request': trace.requestId,
    'catalog_gateway.operation': operation,
    'catalog_gateway.decision': decision,
    'http.response.status_code': status,
    ...(method !== undefined && { 'http.request.method': method }),
    ...(route && { 'http.route': route.operation.path }),
    ...(upstream !== undefined && { 'catalog_gateway.upstream': upstream }),
    ...(refusal && { 'error.type': refusal.reason, 'catalog_gateway.stage': trace.stage }),
    ...(include.includes('client') && { 'client.address': trace.client }),
    ...(include.includes('principal') && principal && { 'enduser.id': principal.name }),
    ...(include.includes('id') && route && { 'catalog_gateway.id': [...route.id] }),
  }
}
