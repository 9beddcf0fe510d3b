import { createLocalJWKSet, type LocalJWKSet } from 'jose'
import { z } from 'zod'

/** The keys of one issuer, kept up to date. */
export interface Jwks {
  /** The keys, or undefined if there are none yet or they are too old to be trusted. */
  current(): JwksSnapshot | undefined
  /**
   * The keys after asking for newer ones, as far as the cooldown allows. Rejects with AuthenticationRefused
   * (`jwks_unavailable`) if the issuer could not be asked.
   */
  refresh(): Promise<JwksSnapshot>
  status(): JwksStatus
  /** Resolves when nothing of it is under way any more. */
  close(): Promise<void>
}

/** The keys of an issuer at one time. */
export interface JwksSnapshot {
  /** Selects the key that a token names, by its `kid` and `alg` and by nothing else that the token says. */
  readonly select: LocalJWKSet
  /** How many they are. */
  readonly keyCount: number
  /** Another number whenever other keys are in force. */
  readonly generation: number
  /** The same for the same keys, whatever their order. */
  readonly fingerprint: string
}

/** What an operator wants to know about the keys of an issuer. */
export interface JwksStatus {
  readonly keyCount: number
  /** False: no token of the issuer can be verified. */
  readonly isUsable: boolean
  /** When the keys were last read, in milliseconds. */
  readonly fetchedAt: number | undefined
  /** All tries since the start. */
  readonly fetches: number
  readonly consecutiveFailures: number
}

const jwksSchema = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })

/**
 * Reads a JSON Web Key Set (RFC 7517); the snapshot from before if the keys are the same. Throws if it is
 * none. Keys that cannot verify stay in it, and refuse the tokens that name them.
 */
export function parseJwks(text: string, before: JwksSnapshot | undefined): JwksSnapshot {
  const { keys } = jwksSchema.parse(JSON.parse(text))
  const fingerprint = keys
    .map((key) => JSON.stringify(key))
    .toSorted()
    .join('\n')
  if (before?.fingerprint === fingerprint) return before
  return {
    // All that the library asks of a set is checked; it checks a key itself when it is used.
    select: createLocalJWKSet({ keys: keys.filter(hasSoundExponent) }),
    keyCount: keys.length,
    generation: (before?.generation ?? 0) + 1,
    fingerprint,
  }
}

/**
 * False for RSA keys with an exponent below 65537 (FIPS 186-5 section 5.4): with 1 anybody can sign, and small ones
 * have let signatures be forged. The library looks at the modulus alone.
 */
function hasSoundExponent({ kty, e }: { readonly kty: string; readonly e?: unknown }): boolean {
  if (kty !== 'RSA') return true
  if (typeof e !== 'string') return false
  const exponent = BigInt(`0x0${Buffer.from(e, 'base64url').toString('hex')}`)
  return exponent >= 65_537n && exponent % 2n === 1n
}
