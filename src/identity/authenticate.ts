import { openApiKeys, type ApiKeysOptions, type ApiKeysStatus, type StaticKey } from './api-keys.ts'
import type { ReportEvent } from './event.ts'
import { tokenIssuersSchema, type TokenIssuer, type TokenIssuerInput } from './issuers.ts'
import type { KeySetStatus } from './key-set.ts'
import { openKeySet, type KeySetOptions } from './key-sets.ts'
import type { Principal } from './principal.ts'
import { AuthenticationRefused } from './refusal.ts'
import type { TokenMemoryOptions } from './token-memory.ts'
import { createTokenVerifier, type TrustedIssuer } from './tokens.ts'

/** The header values as they were sent; that neither was repeated is checked before. */
export interface Credentials {
  /** The value of x-api-key. */
  readonly apiKey: string | undefined
  /** The value of Authorization. */
  readonly authorization: string | undefined
}

/** Whose keys and tokens are good. */
export interface AuthenticatorOptions {
  /** The store of API keys, and the secret of at least 32 bytes that its hashes were made with. */
  readonly apiKeys?: NonNullable<ApiKeysOptions['store']>
  /** For development only. */
  readonly staticKey?: StaticKey
  readonly issuers?: readonly TokenIssuerInput[]
  readonly tokenMemory?: TokenMemoryOptions
  /** How often files are looked at; default 2,000. */
  readonly reloadIntervalMs?: number
  readonly report?: ReportEvent
  /** The time in milliseconds; default Date.now. */
  readonly now?: () => number
}

/** What an operator wants to know: for readiness and metrics. */
interface AuthenticatorStatus {
  readonly apiKeys: ApiKeysStatus
  readonly issuers: readonly (KeySetStatus & { readonly name: string })[]
  readonly rememberedTokens: number
}

/** Tells who calls. */
export interface Authenticator {
  /**
   * Who sends these credentials; throws or rejects with AuthenticationRefused. A promise only where it must
   * wait.
   */
  authenticate(credentials: Credentials): Principal | Promise<Principal>
  status(): AuthenticatorStatus
  close(): void
}

/** Reads keys and key sets; throws if the configuration is wrong or a file cannot be read. */
export async function createAuthenticator(options: AuthenticatorOptions): Promise<Authenticator> {
  const { now = Date.now, report = () => undefined, reloadIntervalMs = 2000 } = options
  const shared = { now, report, reloadIntervalMs }
  const issuers = await openIssuers(tokenIssuersSchema.parse(options.issuers ?? []), shared)
  const closeIssuers = (): void => issuers.forEach(({ keySet }) => keySet.close())
  const keys = await openApiKeys({ ...shared, store: options.apiKeys, staticKey: options.staticKey }).catch(
    (error: unknown) => {
      closeIssuers()
      throw error
    },
  )
  const tokens = createTokenVerifier(issuers, options.tokenMemory ?? {}, now)

  return {
    authenticate({ apiKey, authorization }) {
      if (apiKey === undefined) {
        if (authorization === undefined) throw new AuthenticationRefused('missing')
        return tokens.verify(readBearer(authorization))
      }
      // They cannot agree: the name of a token's principal has a colon, that of a key's never has.
      if (authorization !== undefined) throw new AuthenticationRefused('disagree')
      return keys.verify(apiKey)
    },
    status: () => ({
      apiKeys: keys.status(),
      issuers: issuers.map(({ issuer, keySet }) => ({ name: issuer.name, ...keySet.status() })),
      rememberedTokens: tokens.remembered(),
    }),
    close() {
      keys.close()
      closeIssuers()
    },
  }
}

/**
 * All at the same time, since one that is down takes its timeout; closes the others if one cannot be opened.
 */
async function openIssuers(
  issuers: readonly TokenIssuer[],
  options: KeySetOptions,
): Promise<readonly TrustedIssuer[]> {
  const opened = await Promise.allSettled(
    issuers.map(async (issuer) => ({ issuer, keySet: await openKeySet(issuer, options) })),
  )
  const trusted = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  for (const result of opened) {
    if (result.status === 'fulfilled') continue
    for (const { keySet } of trusted) keySet.close()
    throw result.reason
  }
  return trusted
}

/** The token of `Bearer <token>` (RFC 6750 section 2.1; the scheme in any case, RFC 9110 section 11.1). */
function readBearer(authorization: string): string {
  const token = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(authorization)?.[1]
  if (token !== undefined) return token
  const scheme = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?: |$)/.exec(authorization)?.[1]
  const other = scheme !== undefined && scheme.toLowerCase() !== 'bearer'
  throw new AuthenticationRefused(other ? 'other_scheme' : 'malformed_header')
}
