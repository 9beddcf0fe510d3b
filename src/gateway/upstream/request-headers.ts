import {
  apiKeyHeader,
  assertionHeader,
  clientDialectHeader,
  getHeaderDialect,
  lancedbCredentialType,
  lancedbCredentialTypeHeader,
  requestIdHeader,
  translateHeader,
} from '../../catalog-api/index.ts'
import type { Authenticated } from '../context.ts'
import type { Upstream } from './upstream.ts'

type ForwardedRequest = Authenticated & { readonly allowedBy: { readonly revision: string } }

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
  for (const fields of [sent, restated]) {
    for (let index = 0; index < fields.length; index += 2) {
      const name = fields[index] ?? ''
      const value = fields[index + 1] ?? ''
      if (getHeaderDialect(name) !== undefined)
        headers.push(translateHeader(name, 'catalog', upstream.headerDialect), value)
      else if (upstream.allowedRequestHeaders.has(name) || requestHeaders.includes(name))
        headers.push(name, value)
    }
  }
  headers.push(requestIdHeader, requestId)
  if (isLancedb) headers.push(clientDialectHeader, 'lancedb')
  // An upstream that receives a database with every request cannot derive the dialect from it.
  else if (upstream.database !== undefined) headers.push(clientDialectHeader, 'catalog')
  headers.push(...createCallerHeaders(upstream, request))
  return headers
}

/** Creates the headers that identify the caller to the upstream: names and values in turn. */
function createCallerHeaders(
  { name: upstream, identity, assertions }: Upstream,
  request: ForwardedRequest,
): readonly string[] {
  const { principal, route, allowedBy, head } = request
  if (identity === 'original') return createVerifiedCredentialHeaders(request)
  // There is no principal to assert.
  if (identity === 'none' || principal.method === 'anonymous') return []
  if (assertions === undefined) throw new Error('no key to sign assertions')
  const assertion = assertions.createHeader({
    principal,
    upstream,
    operation: route.operation.name,
    id: route.id,
    policyRevision: allowedBy.revision,
    requestId: head.requestId,
  })
  return [assertionHeader, assertion]
}

/** Only the credential that names the principal: another one may not have been verified. */
function createVerifiedCredentialHeaders({ principal, head }: Authenticated): readonly string[] {
  const { apiKey, authorization } = head.credentials
  if (principal.method === 'api-key' && apiKey !== undefined) return [apiKeyHeader, apiKey]
  if (principal.method === 'token' && authorization !== undefined) {
    const type = head.isOidcToken ? [lancedbCredentialTypeHeader, lancedbCredentialType] : []
    return ['authorization', authorization, ...type]
  }
  return []
}
