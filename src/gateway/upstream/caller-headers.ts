import type { CallerIdentity } from '../../config/index.ts'
import type { AssertionSigner, Principal } from '../../identity/index.ts'
import {
  apiKeyHeader,
  assertionHeader,
  lancedbCredentialType,
  lancedbCredentialTypeHeader,
} from '../../catalog-api/headers.ts'
import type { RouteMatch } from '../../catalog-api/request-target.ts'
import type { ReceivedHead } from '../downstream.ts'

/** What is known of a request that goes upstream. */
export interface ForwardedRequest {
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
