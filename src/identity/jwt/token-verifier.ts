import { LRUCache } from 'lru-cache'
import { errors, jwtVerify, type JWTVerifyOptions, type JWTVerifyResult } from 'jose'
import {
  assertLifetime,
  assertTokenType,
  clockSkewSeconds,
  createTokenPrincipal,
  estimateBytes,
  getBoundCertificateThumbprint,
  type ReadCaller,
  type VerifiedToken,
} from './claims.ts'
import type { TokenIssuer } from '../../config/index.ts'
import type { Jwks, JwksSnapshot } from './jwks.ts'
import { AuthenticationError, type CredentialRefusal } from '../authentication-error.ts'
import { parseToken } from './parse-jwt.ts'

/** Maximum number of keys tried for a token without a key id. */
const maxCandidates = 32
const maxForgedMs = 10_000
const maxForged = 1000

export interface TokenCacheOptions {
  /** Default 50,000: the callers of a day. */
  readonly maxEntries?: number
  /** An estimate; default 64 MiB. Reached before `maxEntries` if tokens contain many groups. */
  readonly maxBytes?: number
}

/** A result of a verification: with the same keys, it cannot change before it expires. */
interface CacheEntry {
  readonly jwks: Jwks
  /** Generation of the keys used for the verification. */
  readonly generation: number | undefined
  readonly expiresAtMs: number
}

export interface TrustedIssuer {
  readonly issuer: Pick<TokenIssuer, 'name' | 'issuer' | 'audience' | 'algorithms' | 'maxLifetimeSeconds'>
  readonly jwks: Jwks
  readonly readCaller: ReadCaller
}

export interface TokenVerifier {
  /**
   * `digest` is the SHA-256 in hex. Undefined after expiry or a change of keys. Throws AuthenticationError if forged.
   */
  findCached(digest: string): VerifiedToken | undefined
  /** Verifies a token; `digest` is its SHA-256 in hex. Rejects with AuthenticationError. */
  verify(token: string, digest: string): Promise<VerifiedToken>
  cachedCount(): number
}

/** Creates a verifier of JSON Web Tokens (RFC 7519) of these issuers. `now` is the time in milliseconds. */
export function createTokenVerifier(
  issuers: readonly TrustedIssuer[],
  options: TokenCacheOptions,
  now: () => number,
): TokenVerifier {
  const byIssuer = new Map(issuers.map((trusted) => [trusted.issuer.issuer, trusted]))
  // By the SHA-256 of the token. Forged tokens are apart, so that they cannot evict valid ones.
  const accepted = new LRUCache<string, CacheEntry & { readonly verified: VerifiedToken }>({
    max: options.maxEntries ?? 50_000,
    maxSize: options.maxBytes ?? 64 * 1024 * 1024,
    sizeCalculation: ({ verified }) => estimateBytes(verified),
  })
  const forged = new LRUCache<string, CacheEntry>({ max: maxForged })

  function isCurrent({ expiresAtMs, generation, jwks }: CacheEntry): boolean {
    return now() < expiresAtMs && generation !== undefined && jwks.current()?.generation === generation
  }

  async function verify(token: string, digest: string): Promise<VerifiedToken> {
    const trusted = findTrustedIssuer(byIssuer, token)
    const { issuer, jwks, readCaller } = trusted
    try {
      const { payload, protectedHeader, generation } = await verifyToken(trusted, token, now())
      assertTokenType(protectedHeader.typ)
      assertLifetime(issuer.maxLifetimeSeconds, payload, now())
      const verified: VerifiedToken = {
        principal: createTokenPrincipal(issuer.name, readCaller(payload), payload, digest),
        certificateThumbprint: getBoundCertificateThumbprint(payload),
      }
      // The time from which on an uncached verification would fail, too.
      const expiresAtMs = ((payload.exp ?? 0) + clockSkewSeconds) * 1000
      accepted.set(digest, { verified, jwks, generation, expiresAtMs })
      return verified
    } catch (error) {
      const refusal = toAuthenticationError(error)
      const { generation } = jwks.current() ?? {}
      if (refusal.reason === 'invalid_signature')
        forged.set(digest, { jwks, generation, expiresAtMs: now() + maxForgedMs })
      throw refusal
    }
  }

  return {
    findCached(digest) {
      const cached = accepted.get(digest)
      if (cached !== undefined && isCurrent(cached)) return cached.verified
      const refused = forged.get(digest)
      if (refused !== undefined && isCurrent(refused)) throw new AuthenticationError('invalid_signature')
      return undefined
    },
    verify,
    cachedCount: () => accepted.size,
  }
}

/** Uses only the issuer named in the token: trying all would allow one to impersonate another. */
function findTrustedIssuer(byIssuer: ReadonlyMap<string, TrustedIssuer>, token: string): TrustedIssuer {
  const { iss: claimed } = parseToken(token).claims
  const trusted = typeof claimed === 'string' ? byIssuer.get(claimed) : undefined
  if (trusted === undefined) throw new AuthenticationError('unknown_issuer')
  return trusted
}

async function verifyToken(
  { issuer, jwks }: TrustedIssuer,
  token: string,
  nowMs: number,
): Promise<JWTVerifyResult & { readonly generation: number }> {
  const options: JWTVerifyOptions = {
    issuer: issuer.issuer,
    audience: issuer.audience,
    algorithms: issuer.algorithms,
    clockTolerance: clockSkewSeconds,
    requiredClaims: ['exp'],
    currentDate: new Date(nowMs),
  }
  const keys = jwks.current() ?? (await jwks.refresh())
  try {
    return await verifyWithJwks(keys, token, options)
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
    const newer = await jwks.refresh()
    if (newer.generation === keys.generation) throw error
    return await verifyWithJwks(newer, token, options)
  }
}

async function verifyWithJwks(
  { select, generation }: JwksSnapshot,
  token: string,
  options: JWTVerifyOptions,
) {
  try {
    return { ...(await jwtVerify(token, select, options)), generation }
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    return { ...(await verifyWithCandidates(error, token, options)), generation }
  }
}

/** Each candidate may have signed a token without a unique `kid`: all are keys of this issuer. */
async function verifyWithCandidates(
  candidates: errors.JWKSMultipleMatchingKeys,
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  let tried = 0
  for await (const key of candidates) {
    try {
      return await jwtVerify(token, key, options)
    } catch (error) {
      // Errors of others than the library come from a key that cannot be used.
      const isOtherKey =
        error instanceof errors.JWSSignatureVerificationFailed || !(error instanceof errors.JOSEError)
      if (!isOtherKey) throw error
    }
    tried++
    if (tried === maxCandidates) break
  }
  throw new errors.JWSSignatureVerificationFailed()
}

const reasonByCode = new Map<string, CredentialRefusal>([
  [errors.JWTInvalid.code, 'malformed_token'],
  [errors.JWSInvalid.code, 'malformed_token'],
  [errors.JOSEAlgNotAllowed.code, 'disallowed_algorithm'],
  [errors.JOSENotSupported.code, 'unsupported_crit'],
  [errors.JWKSNoMatchingKey.code, 'unknown_kid'],
  [errors.JWSSignatureVerificationFailed.code, 'invalid_signature'],
  [errors.JWTExpired.code, 'expired_token'],
])

const reasonByClaim = new Map<string, CredentialRefusal>([
  ['iss', 'unknown_issuer'],
  ['aud', 'wrong_audience'],
  ['exp', 'missing_expiry'],
  ['nbf', 'token_not_yet_valid'],
])

/** Converts an error of token verification to a refusal; returns a refusal unchanged. */
function toAuthenticationError(error: unknown): AuthenticationError {
  if (error instanceof AuthenticationError) return error
  // Errors of the library contain the claims of the token, which must not be logged.
  return new AuthenticationError(
    getRefusalReason(error),
    error instanceof errors.JOSEError ? error.message : error,
  )
}

function getRefusalReason(error: unknown): CredentialRefusal {
  if (error instanceof errors.JWTClaimValidationFailed) {
    return reasonByClaim.get(error.claim) ?? 'malformed_token'
  }
  // All other errors come from parsing the key.
  return (error instanceof errors.JOSEError ? reasonByCode.get(error.code) : undefined) ?? 'unusable_key'
}
