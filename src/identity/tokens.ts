import { errors, jwtVerify, type JWTVerifyOptions, type JWTVerifyResult } from 'jose'
import { boundCertificate, checkLifetime, checkType, principalOf, type ReadCaller } from './claims.ts'
import type { TokenIssuer } from './issuers.ts'
import type { KeySet, KeySnapshot } from './key-set.ts'
import { AuthenticationRefused } from './refusal.ts'
import { createTokenMemory, type TokenMemoryOptions } from './token-memory.ts'
import { refusalOf } from './token-refusal.ts'
import { readTokenText } from './token-text.ts'
import type { VerifiedToken } from './verified-token.ts'

/** A token that names no key is tried with as many keys of its issuer as this. */
const maxCandidates = 4

/** An issuer with its keys. */
export interface TrustedIssuer {
  readonly issuer: Pick<
    TokenIssuer,
    'name' | 'issuer' | 'audience' | 'algorithms' | 'clockSkewSeconds' | 'maxLifetimeSeconds'
  >
  readonly keySet: KeySet
  readonly readCaller: ReadCaller
}

/** Verifies bearer tokens. */
export interface TokenVerifier {
  /**
   * Who sends the token whose SHA-256 in hex this is, if it was verified before and neither its time nor the keys have
   * changed that. Throws AuthenticationRefused for one that is known to be forged.
   */
  recall(digest: string): VerifiedToken | undefined
  /** Who sends this token, whose SHA-256 in hex is `digest`. Rejects with AuthenticationRefused. */
  verify(token: string, digest: string): Promise<VerifiedToken>
  /** The number of tokens remembered as good. */
  remembered(): number
}

/** Verifies JSON Web Tokens (RFC 7519) of these issuers. `now` is the time in milliseconds. */
export function createTokenVerifier(
  issuers: readonly TrustedIssuer[],
  options: TokenMemoryOptions,
  now: () => number,
): TokenVerifier {
  const byIssuer = new Map(issuers.map((trusted) => [trusted.issuer.issuer, trusted]))
  const memory = createTokenMemory(options, now)

  async function verify(token: string, digest: string): Promise<VerifiedToken> {
    const trusted = findIssuer(byIssuer, token)
    const { issuer, keySet, readCaller } = trusted
    try {
      const { payload, protectedHeader, generation } = await verifyToken(trusted, token, now())
      checkType(protectedHeader.typ)
      checkLifetime(issuer, payload, now())
      const verified: VerifiedToken = {
        principal: principalOf(issuer.name, readCaller(payload), payload, digest),
        certificate: boundCertificate(payload),
      }
      // The moment from which it would be refused without a memory, too.
      const until = ((payload.exp ?? 0) + issuer.clockSkewSeconds) * 1000
      memory.accept(digest, { verified, keySet, generation, until })
      return verified
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal.reason === 'invalid_signature') memory.refuse(digest, keySet)
      throw refusal
    }
  }

  return {
    recall(digest) {
      const known = memory.find(digest)
      if (known === 'forged') throw new AuthenticationRefused('invalid_signature')
      return known
    },
    verify,
    remembered: () => memory.size(),
  }
}

/**
 * By what the token says of itself, and by nothing else: trying all issuers would let one speak for another.
 */
function findIssuer(byIssuer: ReadonlyMap<string, TrustedIssuer>, token: string): TrustedIssuer {
  const { iss: claimed } = readTokenText(token).claims
  const trusted = typeof claimed === 'string' ? byIssuer.get(claimed) : undefined
  if (trusted === undefined) throw new AuthenticationRefused('unknown_issuer')
  return trusted
}

interface Verified extends JWTVerifyResult {
  /** Of the keys that it was verified with. */
  readonly generation: number
}

async function verifyToken(
  { issuer, keySet }: TrustedIssuer,
  token: string,
  nowMs: number,
): Promise<Verified> {
  const options: JWTVerifyOptions = {
    issuer: issuer.issuer,
    audience: issuer.audience,
    algorithms: issuer.algorithms,
    clockTolerance: issuer.clockSkewSeconds,
    requiredClaims: ['exp'],
    currentDate: new Date(nowMs),
  }
  const keys = keySet.current() ?? (await keySet.refresh())
  try {
    return await verifyWith(keys, token, options)
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
    const newer = await keySet.refresh()
    if (newer.generation === keys.generation) throw error
    return await verifyWith(newer, token, options)
  }
}

async function verifyWith(keys: KeySnapshot, token: string, options: JWTVerifyOptions): Promise<Verified> {
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
