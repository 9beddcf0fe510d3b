import { LRUCache } from 'lru-cache'
import type { Jwks } from './jwks.ts'
import { estimateBytes, type VerifiedToken } from './verified-token.ts'

/** However long a token lives, it is verified again after this time. */
const maxAcceptedMs = 5 * 60_000
const maxForgedMs = 10_000
const maxForged = 1000

/** How many verified tokens are remembered. */
export interface TokenCacheOptions {
  /** Default 50,000: the callers of a day. */
  readonly maxEntries?: number
  /** An estimate; default 64 MiB. It is reached before the entries where tokens list many groups. */
  readonly maxBytes?: number
}

interface CacheEntry {
  readonly jwks: Jwks
  /** The generation of the keys that it was found with. */
  readonly generation: number
  /** In milliseconds. */
  readonly expiresAtMs: number
}

interface AcceptedToken extends CacheEntry {
  readonly verified: VerifiedToken
}

/** What is known about tokens, by the SHA-256 of their text. */
export interface TokenCache {
  /**
   * A verified token that still holds; `forged` if its signature was found to be wrong a moment ago.
   */
  get(digest: string): VerifiedToken | 'forged' | undefined
  /** Keeps a verified token until its end (in milliseconds), for five minutes at most. */
  addVerified(digest: string, accepted: AcceptedToken): void
  /** Keeps for ten seconds that the signature of a token is wrong. */
  addForged(digest: string, keySet: Jwks): void
  /** The number of tokens kept as good. */
  size(): number
}

/** Remembers tokens for as long as the keys stay that they were verified with. `now` is in milliseconds. */
export function createTokenCache(options: TokenCacheOptions, now: () => number): TokenCache {
  const accepted = new LRUCache<string, AcceptedToken>({
    max: options.maxEntries ?? 50_000,
    maxSize: options.maxBytes ?? 64 * 1024 * 1024,
    sizeCalculation: ({ verified }) => estimateBytes(verified),
  })
  // A memory of their own, so that forged tokens cannot drive out good ones.
  const forged = new LRUCache<string, CacheEntry>({ max: maxForged })

  function holds({ expiresAtMs, generation, jwks }: CacheEntry): boolean {
    return now() < expiresAtMs && jwks.current()?.generation === generation
  }

  return {
    get(digest) {
      const known = accepted.get(digest)
      if (known !== undefined && holds(known)) return known.verified
      const refused = forged.get(digest)
      return refused !== undefined && holds(refused) ? 'forged' : undefined
    },
    addVerified(digest, entry) {
      accepted.set(digest, { ...entry, expiresAtMs: Math.min(entry.expiresAtMs, now() + maxAcceptedMs) })
    },
    addForged(digest, jwks) {
      const generation = jwks.current()?.generation
      if (generation !== undefined) forged.set(digest, { jwks, generation, expiresAtMs: now() + maxForgedMs })
    },
    size: () => accepted.size,
  }
}
