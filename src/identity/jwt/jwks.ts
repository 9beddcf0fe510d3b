import { createPublicKey } from 'node:crypto'
import { createLocalJWKSet, type JWK, type LocalJWKSet } from 'jose'
import { getMembers, isObject } from '../../lib/index.ts'

/** The public keys of an issuer; another object whenever they change. */
export interface KeySet {
  /** Selects the key for a token by its `kid` and `alg` only. */
  readonly select: LocalJWKSet
  /** Keys that can verify signatures. */
  readonly keyCount: number
  /** The entries that are no public keys or too weak, for the log; empty if there are none. */
  readonly unusable: string
  /** Identifies the set of keys, regardless of their order. */
  readonly fingerprint: string
}

const maxDescribed = 5
const minModulusBits = 2048

/**
 * Reads a JWKS (RFC 7517); throws if it has no key at all that can be read. Returns `before` if unchanged. Tokens that
 * refer to an unusable key are refused; the other keys of the set stay in use (section 5).
 */
export function parseJwks(document: unknown, before?: KeySet): KeySet {
  const { keys } = getMembers(document)
  if (!Array.isArray(keys)) throw new Error('not a JWKS (RFC 7517); expected an object with the list "keys"')
  const entries: readonly unknown[] = keys
  const fingerprint = entries
    .map((entry) => JSON.stringify(entry))
    .toSorted()
    .join('\n')
  if (before?.fingerprint === fingerprint) return before
  const readable = entries.filter(isJwk)
  const unusable = entries.flatMap((entry, index) => describeUnusable(entry, index))
  if (entries.length > 0 && readable.length === 0)
    throw new Error(`no key of the JWKS can be read: ${list(unusable)}`)
  return {
    // The library validates no more of a set than this; it validates each key when it is used.
    select: createLocalJWKSet({ keys: readable.filter(hasSoundExponent) }),
    keyCount: entries.filter(isForSignatures).length - unusable.length,
    unusable: list(unusable),
    fingerprint,
  }
}

function list(descriptions: readonly string[]): string {
  const more = descriptions.length - maxDescribed
  return [...descriptions.slice(0, maxDescribed), ...(more > 0 ? [`${more} more`] : [])].join('; ')
}

function isJwk(entry: unknown): entry is JWK & { readonly kty: string } {
  return isObject(entry) && typeof entry['kty'] === 'string'
}

/** Issuers publish keys for encryption beside those for signatures. */
function isForSignatures(entry: unknown): boolean {
  return getMembers(entry)['use'] !== 'enc'
}

/** Says which entry cannot verify signatures, and why; nothing for other entries. */
function describeUnusable(entry: unknown, index: number): readonly string[] {
  if (!isForSignatures(entry)) return []
  const { kid } = getMembers(entry)
  const name = typeof kid === 'string' ? ` (kid ${JSON.stringify(kid.slice(0, 64))})` : ''
  const problem = findProblem(entry)
  return problem === undefined ? [] : [`keys[${index}]${name} ${problem}`]
}

function findProblem(entry: unknown): string | undefined {
  if (!isJwk(entry)) return 'is no object with a kty'
  if ('d' in entry || 'priv' in entry) return 'contains a private key'
  if (entry.kid !== undefined && typeof entry.kid !== 'string') return 'has a kid that is not a string'
  if (!hasSoundExponent(entry)) return 'has an RSA exponent that is even, missing or below 65537'
  try {
    const { modulusLength = Infinity } =
      createPublicKey({ key: entry, format: 'jwk' }).asymmetricKeyDetails ?? {}
    return modulusLength < minModulusBits
      ? `is RSA of ${modulusLength} bits; expected at least ${minModulusBits}`
      : undefined
  } catch {
    return `cannot be read as a public key of kty ${JSON.stringify(entry.kty.slice(0, 16))}`
  }
}

/** FIPS 186-5 section 5.4 requires 65537 or more: with 1, anyone can sign. The library checks the modulus only. */
function hasSoundExponent({ kty, e }: JWK): boolean {
  if (kty !== 'RSA') return true
  if (typeof e !== 'string') return false
  const exponent = BigInt(`0x0${Buffer.from(e, 'base64url').toString('hex')}`)
  return exponent >= 65_537n && exponent % 2n === 1n
}
