import { LRUCache } from 'lru-cache'
import type { Jwks } from './jwks.ts'
import { estimateBytes, type VerifiedToken } from './verified-token.ts'

const maxForgedMs = 10_000
const maxForged = 1000

export interface TokenCacheOptions {
  /** Default 50,000: the callers of a day. */
  readonly maxEntries?: number
  /** An estimate; default 64 MiB. Reached before `maxEntries` if tokens contain many groups. */
  readonly maxBytes?: number
}

interface CacheEntry {
  readonly jwks: Jwks
  /** Generation of the keys used for the verification. */
  readonly generation: number
  readonly expiresAtMs: number
}

interface AcceptedToken extends CacheEntry {
  readonly verified: VerifiedToken
}

/** Verification results, by the SHA-256 of the token. */
export interface TokenCache {
  /** Returns a verified token that is still valid; `forged` if its signature was recently found to be invalid. */
  get(digest: string): VerifiedToken | 'forged' | undefined
  /** Caches a verified token until it expires: with the same keys, the result cannot change before. */
  addVerified(digest: string, accepted: AcceptedToken): void
  /** Caches for ten seconds that the signature of a token is invalid. */
  addForged(digest: string, jwks: Jwks): void
  size(): number
}

/** Creates a cache whose entries are valid only for the keys that verified them. `now` returns milliseconds. */
export function createTokenCache(options: TokenCacheOptions, now: () => number): TokenCache {
  const accepted = new LRUCache<string, AcceptedToken>({
    max: options.maxEntries ?? 50_000,
    maxSize: options.maxBytes ?? 64 * 1024 * 1024,
    sizeCalculation: ({ verified }) => estimateBytes(verified),
  })
  // A separate cache, so that forged tokens cannot evict valid ones.
  const forged = new LRUCache<string, CacheEntry>({ max: maxForged })

  function isCurrent({ expiresAtMs, generation, jwks }: CacheEntry): boolean {
    return now() < expiresAtMs && jwks.current()?.generation === generation
  }

  return {
    get(digest) {
      const cached = accepted.get(digest)
      if (cached !== undefined && isCurrent(cached)) return cached.verified
      const forgedToken = forged.get(digest)
      return forgedToken !== undefined && isCurrent(forgedToken) ? 'forged' : undefined
    },
    addVerified(digest, entry) {
      accepted.set(digest, entry)
    },
    addForged(digest, jwks) {
      const generation = jwks.current()?.generation
      if (generation !== undefined) forged.set(digest, { jwks, generation, expiresAtMs: now() + maxForgedMs })
    },
    size: () => accepted.size,
  }
}
