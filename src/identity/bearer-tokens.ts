import { hash } from 'node:crypto'
import { createCallerReader, type VerifiedToken } from './jwt/claims.ts'
import { openIntrospection } from './introspection/introspection.ts'
import {
  type IntrospectionSettings,
  type KubernetesSettings,
  type TokenIssuerInput,
  tokenIssuersSchema,
} from '../config/index.ts'
import { openJwks, openRemoteJwks } from './jwt/open-jwks.ts'
import type { IdentityRuntime } from './runtime.ts'
import { clusterTokens, fetchClusterJwks, readServiceAccount } from './jwt/service-account.ts'
import { AuthenticationError } from './authentication-error.ts'
import { createTokenVerifier, type TrustedIssuer } from './jwt/token-verifier.ts'
import { TokenCache } from './token-cache.ts'
import { hasJwtForm } from './jwt/parse-jwt.ts'
import type { ClusterAccess } from '../kubernetes/index.ts'

const maxTokenLength = 16 * 1024

/** The configured issuers of bearer tokens. */
export interface TokenSources {
  readonly issuers?: readonly TokenIssuerInput[]
  readonly kubernetes?: KubernetesSettings | undefined
  /** Default: that of the pod. */
  readonly cluster?: ClusterAccess
  readonly introspection?: IntrospectionSettings | undefined
}

export type BearerTokenVerifier = Awaited<ReturnType<typeof openBearerTokenVerifier>>

/** Opens the JWKS of all issuers. Rejects if the configuration is invalid or a file cannot be read. */
export async function openBearerTokenVerifier(sources: TokenSources, runtime: IdentityRuntime) {
  const cache = new TokenCache(runtime.now)
  const introspection =
    sources.introspection && (await openIntrospection(sources.introspection, cache, runtime))
  const issuers = await openIssuers(sources, runtime)
  const verifyToken = createTokenVerifier(issuers, cache, runtime.now)
  return {
    /** Throws or rejects with AuthenticationError. Synchronous if the token is cached. */
    verify(authorization: string): VerifiedToken | Promise<VerifiedToken> {
      const token = parseBearer(authorization)
      if (token.length > maxTokenLength) throw new AuthenticationError('token_too_long')
      const digest = hash('sha256', token, 'hex')
      const cached = cache.find(digest)
      if (cached !== undefined) return cached
      assertTokenSyntax(token)
      // A signed token of an untrusted issuer must not be disclosed to the authorization server.
      if (introspection !== undefined && !hasJwtForm(token)) return introspection.verify(token, digest)
      return verifyToken(token, digest)
    },
    status: () => ({
      issuers: issuers.map(({ issuer, jwks }) => ({ name: issuer.name, ...jwks.status() })),
      cachedTokens: cache.size,
    }),
    async close() {
      await Promise.all([introspection?.close(), ...issuers.map(({ jwks }) => jwks.close())])
    },
  }
}

/** Concurrently, because an unreachable issuer takes its whole timeout. Closes the others if one cannot be opened. */
async function openIssuers(
  { issuers = [], kubernetes, cluster }: TokenSources,
  runtime: IdentityRuntime,
): Promise<readonly TrustedIssuer[]> {
  const opening: Promise<TrustedIssuer>[] = tokenIssuersSchema.parse(issuers).map(async (issuer) => ({
    issuer,
    jwks: await openJwks(issuer, runtime),
    readCaller: createCallerReader(issuer, runtime.report),
  }))
  if (kubernetes !== undefined) opening.push(openKubernetesIssuer(kubernetes, cluster, runtime))
  const opened = await Promise.allSettled(opening)
  const trusted = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  for (const result of opened) {
    if (result.status === 'fulfilled') continue
    await Promise.all(trusted.map(({ jwks }) => jwks.close()))
    throw result.reason
  }
  return trusted
}

async function openKubernetesIssuer(
  settings: KubernetesSettings,
  cluster: ClusterAccess | undefined,
  runtime: IdentityRuntime,
): Promise<TrustedIssuer> {
  const jwks = await openRemoteJwks(settings.name, runtime, (signal) =>
    fetchClusterJwks(settings.issuer, signal, cluster),
  )
  return { issuer: { ...settings, ...clusterTokens }, jwks, readCaller: readServiceAccount }
}

/**
 * Parses `Bearer <token>` (RFC 6750 section 2.1; the scheme is case-insensitive, RFC 9110 section 11.1), which is more than
 * the scheme.
 */
function parseBearer(authorization: string): string {
  const scheme = /^bearer +/i.exec(authorization)?.[0]
  if (scheme !== undefined) return authorization.slice(scheme.length)
  const isOther = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?: |$)/.test(authorization)
  throw new AuthenticationError(isOther ? 'unsupported_scheme' : 'malformed_authorization')
}

/** Cached tokens skip this check. */
function assertTokenSyntax(text: string): void {
  if (!/^[A-Za-z0-9\-._~+/]+=*$/.test(text)) throw new AuthenticationError('malformed_authorization')
}
