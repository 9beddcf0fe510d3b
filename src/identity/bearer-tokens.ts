import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { callerIn } from './claims.ts'
import { openIntrospection, type Introspection } from './introspection.ts'
import type { IntrospectionSettings } from './introspection-settings.ts'
import { tokenIssuersSchema, type TokenIssuerInput } from './issuers.ts'
import type { KeySetStatus } from './key-set.ts'
import { openFetchedKeys, openKeySet, type KeySetOptions } from './key-sets.ts'
import { clusterKeys, serviceAccountOf, type KubernetesSettings } from './kubernetes.ts'
import { AuthenticationRefused } from './refusal.ts'
import type { TokenMemoryOptions } from './token-memory.ts'
import { isStructured } from './token-text.ts'
import { createTokenVerifier, type TrustedIssuer } from './tokens.ts'
import type { VerifiedToken } from './verified-token.ts'
import { makeFolder } from '../make-folder.ts'

const maxTokenLength = 16 * 1024

/** Whose tokens are good. */
export interface BearerTokensOptions extends Omit<KeySetOptions, 'keyFolder'> {
  readonly issuers?: readonly TokenIssuerInput[]
  readonly kubernetes?: KubernetesSettings | undefined
  readonly introspection?: IntrospectionSettings | undefined
  readonly tokenMemory?: TokenMemoryOptions
  readonly keyFolder?: string | undefined
}

/** What an operator wants to know about tokens. */
export interface BearerTokensStatus {
  readonly issuers: readonly (KeySetStatus & { readonly name: string })[]
  readonly rememberedTokens: number
}

/** Verifies what is sent as Authorization. */
export interface BearerTokens {
  /** Throws or rejects with AuthenticationRefused. At once where the token is remembered. */
  verify(authorization: string): VerifiedToken | Promise<VerifiedToken>
  status(): BearerTokensStatus
  close(): Promise<void>
}

/** Opens the keys of all issuers; throws if the configuration is wrong or a file cannot be read. */
export async function openBearerTokens(options: BearerTokensOptions): Promise<BearerTokens> {
  if (options.keyFolder !== undefined) await makeFolder(options.keyFolder, 0o700)
  // Read again for every question, but missing now is a mistake of the settings.
  if (options.introspection !== undefined) await readFile(options.introspection.clientSecretFile)
  const issuers = await openIssuers(options, { ...options, keyFolder: options.keyFolder })
  const signed = createTokenVerifier(issuers, options.tokenMemory ?? {}, options.now)
  const opaque: Introspection | undefined =
    options.introspection && openIntrospection(options.introspection, options.now)
  return {
    verify(authorization) {
      const token = tokenIn(authorization)
      if (token.length > maxTokenLength) throw new AuthenticationRefused('token_too_long')
      const digest = hash('sha256', token, 'hex')
      const known = signed.recall(digest)
      if (known !== undefined) return known
      assertToken(token)
      // A signed token of an issuer that nobody trusts is not shown to another server.
      if (opaque !== undefined && !isStructured(token)) return opaque.verify(token, digest)
      return signed.verify(token, digest)
    },
    status: () => ({
      issuers: issuers.map(({ issuer, keySet }) => ({ name: issuer.name, ...keySet.status() })),
      rememberedTokens: signed.remembered(),
    }),
    async close() {
      await Promise.all([opaque?.close(), ...issuers.map(({ keySet }) => keySet.close())])
    },
  }
}

/**
 * All at the same time, since one that is down takes its timeout; closes the others if one cannot be opened.
 */
async function openIssuers(
  { issuers, kubernetes }: Pick<BearerTokensOptions, 'issuers' | 'kubernetes'>,
  options: KeySetOptions,
): Promise<readonly TrustedIssuer[]> {
  const opening: Promise<TrustedIssuer>[] = tokenIssuersSchema.parse(issuers ?? []).map(async (issuer) => ({
    issuer,
    keySet: await openKeySet(issuer, options),
    readCaller: callerIn(issuer),
  }))
  if (kubernetes !== undefined) opening.push(openCluster(kubernetes, options))
  const opened = await Promise.allSettled(opening)
  const trusted = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  for (const result of opened) {
    if (result.status === 'fulfilled') continue
    await Promise.all(trusted.map(({ keySet }) => keySet.close()))
    throw result.reason
  }
  return trusted
}

async function openCluster(settings: KubernetesSettings, options: KeySetOptions): Promise<TrustedIssuer> {
  const keySet = await openFetchedKeys(settings, settings, clusterKeys(settings), options)
  return { issuer: settings, keySet, readCaller: serviceAccountOf }
}

/**
 * What stands behind the scheme of `Bearer <token>` (RFC 6750 section 2.1; the scheme in any case, RFC 9110 section
 * 11.1).
 */
function tokenIn(authorization: string): string {
  const scheme = /^bearer +/i.exec(authorization)?.[0]
  if (scheme !== undefined) return authorization.slice(scheme.length)
  const other = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?: |$)/.exec(authorization)?.[1]
  const isOther = other !== undefined && other.toLowerCase() !== 'bearer'
  throw new AuthenticationRefused(isOther ? 'unsupported_scheme' : 'malformed_authorization')
}

/** A text that was verified before is one, so that this need not be looked at for each request. */
function assertToken(text: string): void {
  if (!/^[A-Za-z0-9\-._~+/]+=*$/.test(text)) throw new AuthenticationRefused('malformed_authorization')
}
