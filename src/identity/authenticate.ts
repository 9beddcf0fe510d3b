import type { Socket } from 'node:net'
import { openApiKeys, type ApiKeysStatus, type KeyStoreOptions, type StaticKey } from './api-keys/api-keys.ts'
import { openBearerTokenVerifier, type BearerTokenVerifier, type BearerTokenStatus } from './bearer-tokens.ts'
import { createCertificateReader } from './mtls/client-certificate.ts'
import { type ClientCertificateSettings } from '../config/identity/client-certificate-settings.ts'
import type { ReportEvent } from './identity-event.ts'
import type { IntrospectionSettings } from '../config/identity/introspection-settings.ts'
import type { TokenIssuerInput } from '../config/identity/token-issuer-settings.ts'
import type { KubernetesSettings } from '../config/identity/kubernetes-settings.ts'
import { anonymousPrincipal, type Principal } from './principal.ts'
import { AuthenticationError } from './authentication-error.ts'
import { authenticateMultiple, type CredentialPrecedence } from './multiple-credentials.ts'
import type { TokenCacheOptions } from './jwt/token-cache.ts'
import type { VerifiedToken } from './jwt/verified-token.ts'

/** What was sent to prove who calls; that no header was repeated is checked before. */
export interface Credentials {
  /** The value of x-api-key. */
  readonly apiKey: string | undefined
  /** The value of Authorization. */
  readonly authorization: string | undefined
  /** The connection, for its client certificate. */
  readonly connection?: Socket | undefined
}

/** Whose keys, tokens and certificates are good. */
export interface AuthenticatorOptions {
  readonly apiKeys?: KeyStoreOptions
  /** For development only. */
  readonly staticKey?: StaticKey
  readonly issuers?: readonly TokenIssuerInput[]
  readonly kubernetes?: KubernetesSettings | undefined
  readonly introspection?: IntrospectionSettings | undefined
  readonly clientCertificates?: ClientCertificateSettings | undefined
  /** Whether whoever sends no credential at all is let in, as the anonymous principal; default false. */
  readonly anonymous?: boolean | undefined
  /** What counts where several credentials are sent; default `agree`. */
  readonly multipleCredentials?: CredentialPrecedence | undefined
  /** Where the last good keys of issuers are kept. */
  readonly jwksCacheFolder?: string | undefined
  readonly tokenCache?: TokenCacheOptions
  /** How often files are looked at; default 500: a key that is revoked is refused within a second. */
  readonly reloadIntervalMs?: number
  /** How often times of last use are written; default 60,000. */
  readonly lastUsedIntervalMs?: number
  readonly report?: ReportEvent
  /** The time in milliseconds; default Date.now. */
  readonly now?: () => number
}

/** What an operator wants to know: for readiness and metrics. */
interface AuthenticatorStatus extends BearerTokenStatus {
  readonly apiKeys: ApiKeysStatus
}

/** Tells who calls. */
export interface Authenticator {
  /**
   * Who sends these credentials; throws or rejects with AuthenticationRefused. A promise only where it must
   * wait.
   */
  authenticate(credentials: Credentials): Principal | Promise<Principal>
  status(): AuthenticatorStatus
  /** Resolves when what is kept on disk is there. */
  close(): Promise<void>
}

/** Reads keys and key sets; throws if the configuration is wrong or a file cannot be read. */
export async function createAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const { now = Date.now, report = () => undefined, multipleCredentials = 'agree' } = options
  const {
    reloadIntervalMs = 500,
    lastUsedIntervalMs = 60_000,
    clientCertificates,
    anonymous = false,
  } = options
  const shared = { now, report, reloadIntervalMs }
  const tokens = await openBearerTokenVerifier({ ...options, ...shared })
  const keys = await openApiKeys({
    ...shared,
    lastUsedIntervalMs,
    store: options.apiKeys,
    staticKey: options.staticKey,
  }).catch(async (error: unknown) => {
    await tokens.close()
    throw error
  })
  const readCertificate =
    clientCertificates === undefined ? () => undefined : createCertificateReader(clientCertificates, now)

  return {
    authenticate({ apiKey, authorization, connection }) {
      const certificate = readCertificate(connection)
      if (apiKey === undefined && authorization === undefined) {
        if (certificate !== undefined) return certificate.principal
        if (anonymous) return anonymousPrincipal
        throw new AuthenticationError('missing_credential')
      }
      if (certificate === undefined && authorization === undefined) return keys.verify(apiKey ?? '').principal
      if (certificate === undefined && apiKey === undefined)
        return authenticateBearer(tokens, authorization ?? '')
      return authenticateMultiple(
        { apiKey, authorization, certificate },
        { keys, tokens },
        multipleCredentials,
      )
    },
    status: () => ({ apiKeys: keys.status(), ...tokens.status() }),
    async close() {
      await Promise.all([keys.close(), tokens.close()])
    },
  }
}

/** At once where the token is remembered. */
function authenticateBearer(
  tokens: BearerTokenVerifier,
  authorization: string,
): Principal | Promise<Principal> {
  const verified = tokens.verify(authorization)
  return verified instanceof Promise ? verified.then(principalOfUnbound) : principalOfUnbound(verified)
}

/** Throws for a token that may only be sent with a certificate: none was. */
function principalOfUnbound({ principal, certificateThumbprint }: VerifiedToken): Principal {
  if (certificateThumbprint !== undefined) throw new AuthenticationError('unproven_binding')
  return principal
}
