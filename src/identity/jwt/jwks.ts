import { createLocalJWKSet, type LocalJWKSet } from 'jose'
import { z } from 'zod'

export interface Jwks {
  /** Returns the keys; undefined if there are none yet or they are too old to be trusted. */
  current(): JwksSnapshot | undefined
  /** Fetches newer keys if the cooldown permits. Rejects with AuthenticationError (`jwks_unavailable`). */
  refresh(): Promise<JwksSnapshot>
  status(): JwksStatus
  /** Resolves when all background work has ended. */
  close(): Promise<void>
}

export interface JwksSnapshot {
  /** Selects the key for a token by its `kid` and `alg` only. */
  readonly select: LocalJWKSet
  readonly keyCount: number
  /** Changes whenever the keys change. */
  readonly generation: number
  /** Identifies the set of keys, regardless of their order. */
  readonly fingerprint: string
}

export interface JwksStatus {
  readonly keyCount: number
  /** False: no token of the issuer can be verified. */
  readonly isUsable: boolean
  /** Time of the last successful fetch, in milliseconds. */
  readonly fetchedAt: number | undefined
  /** Number of attempts since startup. */
  readonly fetches: number
  readonly consecutiveFailures: number
}

const jwksSchema = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })

/**
 * Parses RFC 7517; throws if invalid. Returns `before` if unchanged. Tokens that refer to unusable keys are refused.
 */
export function parseJwks(text: string, before: JwksSnapshot | undefined): JwksSnapshot {
  const { keys } = jwksSchema.parse(JSON.parse(text))
  const fingerprint = keys
    .map((key) => JSON.stringify(key))
    .toSorted()
    .join('\n')
  if (before?.fingerprint === fingerprint) return before
  return {
    // The library validates no more of a set than this; it validates each key when it is used.
    select: createLocalJWKSet({ keys: keys.filter(hasSoundExponent) }),
    keyCount: keys.length,
    generation: (before?.generation ?? 0) + 1,
    fingerprint,
  }
}

/** FIPS 186-5 section 5.4 requires 65537 or more: with 1, anyone can sign. The library checks the modulus only. */
function hasSoundExponent({ kty, e }: { readonly kty: string; readonly e?: unknown }): boolean {
  if (kty !== 'RSA') return true
  if (typeof e !== 'string') return false
  const exponent = BigInt(`0x0${Buffer.from(e, 'base64url').toString('hex')}`)
  return exponent >= 65_537n && exponent % 2n === 1n
}
