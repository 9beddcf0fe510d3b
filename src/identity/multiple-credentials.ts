import type { ApiKeys } from './api-keys/api-keys.ts'
import type { BearerTokenVerifier } from './bearer-tokens.ts'
import type { VerifiedCertificate } from './mtls/client-certificate.ts'
import type { Principal } from './principal.ts'
import { AuthenticationError } from './authentication-error.ts'

/** The credential that is used alone if it is sent together with others; `agree`: all are used and must agree. */
export type CredentialPrecedence = 'agree' | 'apiKey' | 'bearer' | 'certificate'

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
 * If the credential that takes precedence was sent, only that is verified here; the certificate was verified before.
 * Otherwise all must be valid and bound to one another: a key by its subject, which names the principal of the token (or
 * certificate); a token by the thumbprint of the certificate (RFC 8705). Returns the principal of the token, or of the certificate, because its groups are more
 * current. Throws or rejects with AuthenticationError: with `conflicting_credentials` if any credential is wrong, so
 * that a valid one does not help to guess another.
 */
export function authenticateMultiple(
  { apiKey, authorization, certificate }: MultipleCredentials,
  { keys, tokens }: CredentialVerifiers,
  precedence: CredentialPrecedence,
): Principal | Promise<Principal> {
  if (precedence === 'certificate' && certificate !== undefined) return certificate.principal
  if (precedence === 'apiKey' && apiKey !== undefined) return keys.verify(apiKey).principal
  if (precedence === 'bearer' && authorization !== undefined) return authenticateBearer(authorization)
  return authenticateAll()

  async function authenticateBearer(authorization: string): Promise<Principal> {
    const token = await tokens.verify(authorization)
    if (
      token.certificateThumbprint !== undefined &&
      token.certificateThumbprint !== certificate?.thumbprint
    ) {
      throw new AuthenticationError('unproven_binding')
    }
    return token.principal
  }

  async function authenticateAll(): Promise<Principal> {
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
