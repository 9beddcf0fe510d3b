import type { ApiKeys } from './api-keys/api-keys.ts'
import type { BearerTokenVerifier } from './bearer-tokens.ts'
import type { VerifiedCertificate } from './mtls/client-certificate.ts'
import type { Principal } from './principal.ts'
import { AuthenticationError } from './authentication-error.ts'

interface MultipleCredentials {
  readonly apiKey: string | undefined
  readonly authorization: string | undefined
  readonly certificate: VerifiedCertificate | undefined
}

interface CredentialVerifiers {
  readonly keys: Pick<ApiKeys, 'verify'>
  readonly tokens: Pick<BearerTokenVerifier, 'verify'>
}

/**
 * All credentials must be valid and bound to one another: a key by its subject, which names the principal of the token (or
 * certificate); a token by the thumbprint of the certificate (RFC 8705). Returns the principal of the token, or of the
 * certificate, because its groups are more current. Rejects with AuthenticationError: with `conflicting_credentials` if
 * any credential is wrong, so that a valid one does not help to guess another.
 */
export async function authenticateMultiple(
  { apiKey, authorization, certificate }: MultipleCredentials,
  { keys, tokens }: CredentialVerifiers,
): Promise<Principal> {
  try {
    const key = apiKey === undefined ? undefined : keys.verify(apiKey)
    // A key without a subject never agrees with another credential, so the token need not be verified.
    if (key !== undefined && key.subject === undefined)
      throw new AuthenticationError('conflicting_credentials')
    const principal = await authenticateTokenOrCertificate()
    if (key !== undefined && key.subject !== principal?.name)
      throw new AuthenticationError('conflicting_credentials')
    if (principal === undefined) throw new AuthenticationError('conflicting_credentials')
    return principal
  } catch (error) {
    if (!(error instanceof AuthenticationError) || error.kind === 'ServiceUnavailable') throw error
    throw error.reason === 'conflicting_credentials'
      ? error
      : new AuthenticationError('conflicting_credentials', error.reason)
  }

  /** Token and certificate must be bound to each other if both were sent. */
  async function authenticateTokenOrCertificate(): Promise<Principal | undefined> {
    if (authorization === undefined) return certificate?.principal
    const token = await tokens.verify(authorization)
    if (token.certificateThumbprint !== certificate?.thumbprint)
      throw new AuthenticationError('conflicting_credentials')
    return token.principal
  }
}
