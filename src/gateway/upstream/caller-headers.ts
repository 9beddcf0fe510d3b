import type { AssertionSettings } from '../../config/assertion-settings.ts'
import type { AssertionSigner } from '../../identity/assertion/assertions.ts'
import { apiKeyHeader } from '../../catalog-api/headers.ts'
import type { Authenticated } from '../context.ts'

/** What an upstream receives about the caller: nothing, the original credential, or a signed assertion. */
export const callerIdentities = ['none', 'original', 'assertion'] as const

export type CallerIdentity = (typeof callerIdentities)[number]

/** A request that is sent upstream. */
export interface ForwardedRequest extends Authenticated {
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
    return [assertions.header, assertion]
  }
}

/** Returns what is wrong with the settings of an upstream that receives the caller in this form. */
export function findCallerIdentityProblem(
  upstream: {
    readonly identity: CallerIdentity
    readonly credential?: { readonly header: string } | undefined
  },
  assertion: Pick<AssertionSettings, 'header'> | undefined,
): string | undefined {
  const { identity, credential } = upstream
  if (identity === 'original' && credential !== undefined) {
    return 'expected none or assertion: the credential of the caller cannot be sent together with that of the gateway'
  }
  if (identity !== 'assertion') return undefined
  if (assertion === undefined) return 'expected identity.assertion with the signing key'
  if (assertion.header !== credential?.header) return undefined
  return 'the assertion and the credential are sent in the same header; expected another identity.assertion.header'
}

/** Only the credential of the principal: other credentials of the request may not have been verified. */
function createVerifiedCredentialHeaders({ principal, head }: ForwardedRequest): readonly string[] {
  const { apiKey, authorization } = head.credentials
  if (principal.method === 'api-key' && apiKey !== undefined) return [apiKeyHeader, apiKey]
  if (principal.method === 'token' && authorization !== undefined) return ['authorization', authorization]
  return []
}
