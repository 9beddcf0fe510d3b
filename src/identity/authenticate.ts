import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { openApiKeys, type ApiKeys, type KeyStoreOptions, type StaticKey } from './api-keys/api-keys.ts'
import { openBearerTokenVerifier, type BearerTokenVerifier, type TokenSources } from './bearer-tokens.ts'
import { createCertificateReader, type VerifiedCertificate } from './mtls/client-certificate.ts'
import type { ClientCertificateSettings } from '../config/index.ts'
import type { IdentityRuntime } from './runtime.ts'
import { anonymousPrincipal, type Principal } from './principal.ts'
import { AuthenticationError } from './authentication-error.ts'
import type { VerifiedToken } from './jwt/claims.ts'
import { directOutbound } from '../outbound/index.ts'

/** Credentials of a request. Repeated headers were rejected before. */
export interface Credentials {
  readonly apiKey: string | undefined
  readonly authorization: string | undefined
  /** The connection, for its client certificate. */
  readonly connection?: Socket | undefined
  /** The certificate of the client, verified by a trusted proxy. It takes the place of that of the connection. */
  readonly forwardedCertificate?: X509Certificate | undefined
}

/**
 * By default, connections are opened directly, files are polled every 500 ms, so that a revoked key is refused within a
 * second, and times of last use are written every minute.
 */
export interface AuthenticatorOptions extends TokenSources, Partial<IdentityRuntime> {
  readonly apiKeys?: KeyStoreOptions
  /** The development key or the bootstrap key. */
  readonly staticKey?: StaticKey
  readonly clientCertificates?: ClientCertificateSettings | undefined
  /** Whether requests without any credential are accepted as the anonymous principal. Default: false. */
  readonly anonymous?: boolean | undefined
  readonly lastUsedIntervalMs?: number
}

export type Authenticator = Awaited<ReturnType<typeof createAuthenticator>>

const emptyAuthorization = /^(?:bearer)?$/i

/** Creates an authenticator. Reads keys and JWKS; rejects if the configuration is invalid or a file cannot be read. */
export async function createAuthenticator(options: AuthenticatorOptions) {
  const runtime = {
    now: Date.now,
    report: () => undefined,
    reloadIntervalMs: 500,
    outbound: directOutbound,
    ...options,
  }
  const { now } = runtime
  const { apiKeys: store, staticKey, lastUsedIntervalMs = 60_000, clientCertificates, anonymous } = options
  const tokens = await openBearerTokenVerifier(options, runtime)
  const keys = await openApiKeys(store, staticKey, lastUsedIntervalMs, runtime).catch(
    async (error: unknown) => {
      await tokens.close()
      throw error
    },
  )
  const readCertificate =
    clientCertificates === undefined ? () => undefined : createCertificateReader(clientCertificates, now)

  return {
    /** Throws or rejects with AuthenticationError. Returns a promise only if it must wait. */
    authenticate(credentials: Credentials): Principal | Promise<Principal> {
      const { apiKey, authorization, connection, forwardedCertificate } = credentials
      const certificate = readCertificate(connection, forwardedCertificate)
      if (apiKey === undefined && authorization === undefined) {
        if (certificate !== undefined) return certificate.principal
        if (anonymous === true) return anonymousPrincipal
        throw new AuthenticationError('missing_credential')
      }
      if (apiKey === '' || (authorization !== undefined && emptyAuthorization.test(authorization)))
        throw new AuthenticationError('empty_credential')
      if (certificate === undefined) {
        if (authorization === undefined && apiKey !== undefined) return keys.verify(apiKey).principal
        if (authorization !== undefined && apiKey === undefined)
          return authenticateBearer(tokens, authorization)
      }
      return authenticateMultiple(credentials, certificate, keys, tokens)
    },
    status: () => ({ apiKeys: keys.status(), ...tokens.status() }),
    /** Resolves when pending writes are on disk. */
    async close() {
      await Promise.all([keys.close(), tokens.close()])
    },
  }
}

function authenticateBearer(
  tokens: BearerTokenVerifier,
  authorization: string,
): Principal | Promise<Principal> {
  const verified = tokens.verify(authorization)
  return verified instanceof Promise ? verified.then(requireUnbound) : requireUnbound(verified)
}

/** Throws for a token that is bound to a certificate: the request has none. */
function requireUnbound({ principal, certificateThumbprint }: VerifiedToken): Principal {
  if (certificateThumbprint !== undefined) throw new AuthenticationError('unproven_binding')
  return principal
}

/**
 * All credentials must be valid and bound to one another: a key by its subject, which names the principal of the token (or
 * certificate); a token by the thumbprint of the certificate (RFC 8705). Returns the principal of the token, or of the
 * certificate, because its groups are more current. Rejects with AuthenticationError: with `conflicting_credentials` if
 * any credential is wrong, so that a valid one does not help to guess another.
 */
async function authenticateMultiple(
  { apiKey, authorization }: Credentials,
  certificate: VerifiedCertificate | undefined,
  keys: ApiKeys,
  tokens: BearerTokenVerifier,
): Promise<Principal> {
  try {
    const key = apiKey === undefined ? undefined : keys.verify(apiKey)
    const token = authorization === undefined ? undefined : await tokens.verify(authorization)
    const principal = token?.principal ?? certificate?.principal
    const isBound = token === undefined || token.certificateThumbprint === certificate?.thumbprint
    // A key without a subject agrees with no other credential.
    if (principal === undefined || !isBound || (key !== undefined && key.subject !== principal.name))
      throw new AuthenticationError('conflicting_credentials')
    return principal
  } catch (error) {
    if (!(error instanceof AuthenticationError) || error.kind === 'ServiceUnavailable') throw error
    throw error.reason === 'conflicting_credentials'
      ? error
      : new AuthenticationError('conflicting_credentials', error.reason)
  }
}
