import {
  apiKeyHeader,
  assertionHeader,
  clientDialectHeader,
  getHeaderDialect,
  type HeaderDialect,
  lancedbCredentialType,
  lancedbCredentialTypeHeader,
  requestIdHeader,
  type RouteMatch,
  translateHeader,
} from '../../catalog-api/index.ts'
import type { CallerIdentity } from '../../config/index.ts'
import type { AssertionSigner, Principal } from '../../identity/index.ts'
import type { ReceivedHead } from '../downstream.ts'

/** Which headers an upstream receives of a request. */
interface HeaderRules {
  readonly headerDialect: HeaderDialect
  readonly allowedRequestHeaders: ReadonlySet<string>
  readonly database: string | undefined
  readonly callerHeaders: CallerHeaders
}

/**
 * Creates the headers that an upstream receives, except those of the body and of every request: the permitted headers
 * of the caller for the operation, those that `restated` facts add, and those of the gateway. Catalog headers get the
 * names that the upstream reads. Names and values in turn.
 */
export function createRequestHeaders(
  upstream: HeaderRules,
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
        headers.push(translateHeader(name, 'catalog', upstream.headerDialect), value)
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

/** What is known of a request that goes upstream. */
interface ForwardedRequest {
  readonly head: ReceivedHead
  readonly route: RouteMatch
  readonly principal: Principal
  readonly allowedBy: { readonly revision: string }
}

/** Creates the headers that identify the caller to an upstream: names and values in turn. */
export type CallerHeaders = (request: ForwardedRequest) => readonly string[]

/** Creates the function for one upstream. Throws for `assertion` without signing keys. */
export function createCallerHeaders(
  upstream: string,
  identity: CallerIdentity,
  assertions: AssertionSigner | undefined,
): CallerHeaders {
  if (identity === 'none') return () => []
  if (identity === 'original') return createVerifiedCredentialHeaders
  if (assertions === undefined) throw new Error('no key to sign assertions')
  return ({ principal, route, allowedBy, head }) => {
    // There is no principal to assert.
    if (principal.method === 'anonymous') return []
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
}

/** Only what names the principal: another credential that was sent along may not have been verified. */
function createVerifiedCredentialHeaders({ principal, head }: ForwardedRequest): readonly string[] {
  const { apiKey, authorization } = head.credentials
  if (principal.method === 'api-key' && apiKey !== undefined) return [apiKeyHeader, apiKey]
  if (principal.method === 'token' && authorization !== undefined) {
    const type = head.isOidcToken ? [lancedbCredentialTypeHeader, lancedbCredentialType] : []
    return ['authorization', authorization, ...type]
  }
  return []
}
