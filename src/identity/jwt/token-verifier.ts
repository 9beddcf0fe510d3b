import { errors, jwtVerify, type JWTVerifyOptions, type JWTVerifyResult } from 'jose'
import {
  boundCertificateThumbprint,
  assertLifetime,
  assertTokenType,
  createTokenPrincipal,
  type ReadCaller,
} from './claims.ts'
import type { TokenIssuer } from '../../config/identity/token-issuer-settings.ts'
import type { Jwks, JwksSnapshot } from './jwks.ts'
import { AuthenticationError } from '../authentication-error.ts'
import { createTokenCache, type TokenCacheOptions } from './token-cache.ts'
import { toAuthenticationError } from './jose-error.ts'
import { parseToken } from './parse-jwt.ts'
import type { VerifiedToken } from './verified-token.ts'

/** A token that names no key is tried with as many keys of its issuer as this. */
const maxCandidates = 4

/** An issuer with its keys. */
export interface TrustedIssuer {
  readonly issuer: Pick<
    TokenIssuer,
    'name' | 'issuer' | 'audience' | 'algorithms' | 'clockSkewSeconds' | 'maxLifetimeSeconds'
  >
  readonly jwks: Jwks
  readonly readCaller: ReadCaller
}

/** Verifies bearer tokens. */
export interface TokenVerifier {
  /**
   * Who sends the token whose SHA-256 in hex this is, if it was verified before and neither its time nor the keys have
   * changed that. Throws AuthenticationRefused for one that is known to be forged.
   */
  findCached(digest: string): VerifiedToken | undefined
  /** Who sends this token, whose SHA-256 in hex is `digest`. Rejects with AuthenticationRefused. */
  verify(token: string, digest: string): Promise<VerifiedToken>
  /** The number of tokens remembered as good. */
  cachedCount(): number
}

/** Verifies JSON Web Tokens (RFC 7519) of these issuers. `now` is the time in milliseconds. */
export function createTokenVerifier(
  issuers: readonly TrustedIssuer[],
  options: TokenCacheOptions,
  now: () => number,
): TokenVerifier {
  const byIssuer = new Map(issuers.map((trusted) => [trusted.issuer.issuer, trusted]))
  const memory = createTokenCache(options, now)

  async function verify(token: string, digest: string): Promise<VerifiedToken> {
    const trusted = findTrustedIssuer(byIssuer, token)
    const { issuer, jwks, readCaller } = trusted
    try {
      const { payload, protectedHeader, generation } = await verifyToken(trusted, token, now())
      assertTokenType(protectedHeader.typ)
      assertLifetime(issuer, payload, now())
      const verified: VerifiedToken = {
        principal: createTokenPrincipal(issuer.name, readCaller(payload), payload, digest),
        certificateThumbprint: boundCertificateThumbprint(payload),
      }
      // The moment from which it would be refused without a memory, too.
      const expiresAtMs = ((payload.exp ?? 0) + issuer.clockSkewSeconds) * 1000
      memory.addVerified(digest, { verified, jwks, generation, expiresAtMs })
      return verified
    } catch (error) {
      const refusal = toAuthenticationError(error)
      if (refusal.reason === 'invalid_signature') memory.addForged(digest, jwks)
      throw refusal
    }
  }

  return {
    findCached(digest) {
      const known = memory.get(digest)
      if (known === 'forged') throw new AuthenticationError('invalid_signature')
      return known
    },
    verify,
    cachedCount: () => memory.size(),
  }
}

/**
 * By what the token says of itself, and by nothing else: trying all issuers would let one speak for another.
 */
function findTrustedIssuer(byIssuer: ReadonlyMap<string, TrustedIssuer>, token: string): TrustedIssuer {
  const { iss: claimed } = parseToken(token).claims
  const trusted = typeof claimed === 'string' ? byIssuer.get(claimed) : undefined
  if (trusted === undefined) throw new AuthenticationError('unknown_issuer')
  return trusted
}

interface VerifiedJwt extends JWTVerifyResult {
  /** Of the keys that it was verified with. */
  readonly generation: number
}

async function verifyToken(
  { issuer, jwks }: TrustedIssuer,
  token: string,
  nowMs: number,
): Promise<VerifiedJwt> {
  const options: JWTVerifyOptions = {
    issuer: issuer.issuer,
    audience: issuer.audience,
    algorithms: issuer.algorithms,
    clockTolerance: issuer.clockSkewSeconds,
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
  keys: JwksSnapshot,
  token: string,
  options: JWTVerifyOptions,
): Promise<VerifiedJwt> {
  const { generation } = keys
  try {
    return { ...(await jwtVerify(token, keys.select, options)), generation }
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    return { ...(await verifyWithCandidates(error, token, options)), generation }
  }
}

/**
 * No `kid`, or one that two keys share: all candidates are keys of this issuer, so any of them may have
 * signed.
 */
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
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
    }
    tried++
    if (tried === maxCandidates) break
  }
  throw new errors.JWSSignatureVerificationFailed()
}
