import { clientDialectHeader, getHeaderDialect, requestIdHeader } from '../../catalog-api/headers.ts'
import type { ForwardedRequest } from './caller-headers.ts'
import type { Upstream } from './upstream.ts'

/**
 * Creates the headers that an upstream receives, except those of the body: the permitted headers of the caller and
 * those of the gateway. Names and values in turn.
 */
export function createRequestHeaders(upstream: Upstream, request: ForwardedRequest): string[] {
  const headers: string[] = []
  const { headers: sent, requestId, database } = request.head
  for (let index = 0; index < sent.length; index += 2) {
    const name = sent[index] ?? ''
    const passes = upstream.allowedRequestHeaders.has(name) || getHeaderDialect(name) !== undefined
    if (passes) headers.push(name, sent[index + 1] ?? '')
  }
  headers.push(requestIdHeader, requestId, ...upstream.fixedHeaders)
  if (database !== undefined) headers.push(clientDialectHeader, 'lancedb')
  // An upstream that receives a database with every request cannot derive the dialect from it.
  else if (upstream.database !== undefined) headers.push(clientDialectHeader, 'catalog')
  headers.push(...upstream.callerHeaders(request))
  return headers
}
