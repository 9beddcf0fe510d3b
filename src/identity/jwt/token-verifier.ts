import { errors, jwtVerify, type JWTVerifyOptions, type JWTVerifyResult } from 'jose'
import {
  type Claims,
  clockSkewSeconds,
  createVerifiedToken,
  type ReadCaller,
  type VerifiedToken,
} from './claims.ts'
import type { TokenIssuer } from '../../config/index.ts'
import type { KeySet } from './jwks.ts'
import type { Jwks } from './open-jwks.ts'
import { AuthenticationError, type CredentialRefusal } from '../authentication-error.ts'
import { parseClaims } from './parse-jwt.ts'
import type { TokenCache } from '../token-cache.ts'

/** End of the year 9999, in seconds. */
const lastSecond = 253_402_300_799

/** Maximum number of keys tried for a token without a key id. */
const maxCandidates = 32

export interface TrustedIssuer {
  readonly issuer: Pick<TokenIssuer, 'name' | 'issuer' | 'audience' | 'algorithms' | 'maxLifetimeSeconds'>
  readonly jwks: Jwks
  readonly readCaller: ReadCaller
}

/**
 * Creates a verifier of JSON Web Tokens (RFC 7519) of these issuers, which caches results: with the same keys, they cannot
 * change before they expire. It rejects with AuthenticationError. `now` is the time in milliseconds, `digest` the SHA-256
 * of the token in hex.
 */
export function createTokenVerifier(issuers: readonly TrustedIssuer[], cache: TokenCache, now: () => number) {
  const byIssuer = new Map(issuers.map((trusted) => [trusted.issuer.issuer, trusted]))
  return async (token: string, digest: string): Promise<VerifiedToken> => {
    const trusted = findTrustedIssuer(byIssuer, token)
    const { issuer, jwks, readCaller } = trusted
    try {
      const { payload, protectedHeader, keys } = await verifyToken(trusted, token, now())
      assertTokenType(protectedHeader.typ)
      assertLifetime(issuer.maxLifetimeSeconds, payload, now())
      const verified = createVerifiedToken(issuer.name, readCaller(payload), payload, digest)
      // The time from which on an uncached verification would fail, too.
      const untilMs = ((payload.exp ?? 0) + clockSkewSeconds) * 1000
      cache.add(digest, verified, untilMs, () => jwks.current() === keys)
      return verified
    } catch (error) {
      throw toAuthenticationError(error)
    }
  }
}

/** Uses only the issuer named in the token: trying all would allow one to impersonate another. */
function findTrustedIssuer(byIssuer: ReadonlyMap<string, TrustedIssuer>, token: string): TrustedIssuer {
  const { iss: claimed } = parseClaims(token)
  const trusted = typeof claimed === 'string' ? byIssuer.get(claimed) : undefined
  if (trusted === undefined) throw new AuthenticationError('unknown_issuer')
  return trusted
}

async function verifyToken(
  { issuer, jwks }: TrustedIssuer,
  token: string,
  nowMs: number,
): Promise<JWTVerifyResult & { readonly keys: KeySet }> {
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
    return { keys, ...(await verifyWithKeys(keys, token, options)) }
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
    const newer = await jwks.refresh()
    if (newer === keys) throw error
    return { keys: newer, ...(await verifyWithKeys(newer, token, options)) }
  }
}

/** Tries each key that may have signed a token without a unique `kid`: all are keys of this issuer. */
async function verifyWithKeys(
  { select }: KeySet,
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  const candidates = await jwtVerify(token, select, options).catch((error: unknown) => {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return error
    throw error
  })
  if (!(candidates instanceof errors.JWKSMultipleMatchingKeys)) return candidates
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

/** Accepts access tokens and generic types only: issuers sign others with the same keys (RFC 8725 section 3.11). */
function assertTokenType(type: string | undefined): void {
  if (type !== undefined && !/^(application\/)?(at\+)?jwt$/i.test(type)) {
    throw new AuthenticationError('wrong_token_type')
  }
}

/** Refuses a lifetime above that of the issuer, or an end after the year 9999: probably in milliseconds by mistake. */
function assertLifetime(maxLifetimeSeconds: number | undefined, { iat, exp }: Claims, nowMs: number): void {
  if (typeof exp !== 'number' || exp > lastSecond) throw new AuthenticationError('token_lifetime_too_long')
  if (maxLifetimeSeconds === undefined) return
  if (typeof iat !== 'number' || exp - iat > maxLifetimeSeconds) {
    throw new AuthenticationError('token_lifetime_too_long')
  }
  // A start in the future would extend the lifetime.
  if (iat > nowMs / 1000 + clockSkewSeconds) throw new AuthenticationError('token_not_yet_valid')
}

/** By the code of an error, or the claim that it is about. */
const reasons = new Map<string, CredentialRefusal>([
  [errors.JWTInvalid.code, 'malformed_token'],
  [errors.JWTClaimValidationFailed.code, 'malformed_token'],
  [errors.JWSInvalid.code, 'malformed_token'],
  [errors.JOSEAlgNotAllowed.code, 'disallowed_algorithm'],
  [errors.JOSENotSupported.code, 'unsupported_crit'],
  [errors.JWKSNoMatchingKey.code, 'unknown_kid'],
  [errors.JWSSignatureVerificationFailed.code, 'invalid_signature'],
  [errors.JWTExpired.code, 'expired_token'],
  ['iss', 'unknown_issuer'],
  ['aud', 'wrong_audience'],
  ['exp', 'missing_expiry'],
  ['nbf', 'token_not_yet_valid'],
])

/** Converts an error of token verification to a refusal; returns a refusal unchanged. */
function toAuthenticationError(error: unknown): AuthenticationError {
  if (error instanceof AuthenticationError) return error
  // Other errors than those of the library come from parsing the key.
  if (!(error instanceof errors.JOSEError)) return new AuthenticationError('unusable_key', error)
  const claim = error instanceof errors.JWTClaimValidationFailed ? error.claim : ''
  const reason = reasons.get(claim) ?? reasons.get(error.code) ?? 'unusable_key'
  // The error itself contains the claims of the token, which must not be logged.
  return new AuthenticationError(reason, error.message)
}
