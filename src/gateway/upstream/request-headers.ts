import {
  clientDialectHeader,
  fromCatalogHeader,
  getHeaderDialect,
  requestIdHeader,
} from '../../catalog-api/headers.ts'
import type { ForwardedRequest } from './caller-headers.ts'
import type { Upstream } from './upstream.ts'

/**
 * Creates the headers that an upstream receives, except those of the body and of every request: the permitted headers
 * of the caller for the operation, those that `restated` facts add, and those of the gateway. Catalog headers get the
 * names that the upstream reads. Names and values in turn.
 */
export function createRequestHeaders(
  upstream: Upstream,
  request: ForwardedRequest,
  restated: readonly string[] = [],
): string[] {
  const headers: string[] = []
  const { headers: sent, requestId, isLancedb } = request.head
  const { requestHeaders } = request.route.operation
  for (const given of [sent, restated]) {
    for (let index = 0; index < given.length; index += 2) {
      const name = given[index] ?? ''
      const value = given[index + 1] ?? ''
      if (getHeaderDialect(name) !== undefined)
        headers.push(fromCatalogHeader(name, upstream.headerDialect), value)
      else if (upstream.allowedRequestHeaders.has(name) || requestHeaders.includes(name))
        headers.push(name, value)
    }
  }
  headers.push(requestIdHeader, requestId)
  if (isLancedb) headers.push(clientDialectHeader, 'lancedb')
  // An upstream that receives a database with every request cannot derive the dialect from it.
  else if (upstream.database !== undefined) headers.push(clientDialectHeader, 'catalog')
  headers.push(...upstream.callerHeaders(request))
  return headers
}
