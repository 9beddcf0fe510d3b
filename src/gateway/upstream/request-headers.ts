import { clientDialectHeader, headerDialectOf, requestIdHeader } from '../../catalog-api/headers.ts'
import type { ForwardedRequest } from './caller-headers.ts'
import type { Upstream } from './upstream.ts'

/**
 * The headers of a request as that upstream gets them, but for those of its body: what it may have of the caller's, and
 * what the gateway says. Names and values in turn.
 */
export function createRequestHeaders(upstream: Upstream, request: ForwardedRequest): string[] {
  const headers: string[] = []
  const { headers: sent, requestId, database } = request.head
  for (let index = 0; index < sent.length; index += 2) {
    const name = sent[index] ?? ''
    const passes = upstream.allowedRequestHeaders.has(name) || headerDialectOf(name) !== undefined
    if (passes) headers.push(name, sent[index + 1] ?? '')
  }
  headers.push(requestIdHeader, requestId, ...upstream.fixedHeaders)
  if (database !== undefined) headers.push(clientDialectHeader, 'lancedb')
  // An upstream that gets a database with every request cannot tell the dialect by it.
  else if (upstream.database !== undefined) headers.push(clientDialectHeader, 'catalog')
  headers.push(...upstream.callerHeaders(request))
  return headers
}
