import { LRUCache } from 'lru-cache'
import type { KeySet } from './key-set.ts'
import { bytesOf, type VerifiedToken } from './verified-token.ts'

/** However long a token lives, it is verified again after this time. */
const maxAcceptedMs = 5 * 60_000
const maxForgedMs = 10_000
const maxForged = 1000

/** How many verified tokens are remembered. */
export interface TokenMemoryOptions {
  /** Default 50,000: the callers of a day. */
  readonly maxEntries?: number
  /** An estimate; default 64 MiB. It is reached before the entries where tokens list many groups. */
  readonly maxBytes?: number
}

interface Verdict {
  readonly keySet: KeySet
  /** The generation of the keys that it was found with. */
  readonly generation: number
  /** In milliseconds. */
  readonly until: number
}

interface Accepted extends Verdict {
  readonly verified: VerifiedToken
}

/** What is known about tokens, by the SHA-256 of their text. */
export interface TokenMemory {
  /**
   * A verified token that still holds; `forged` if its signature was found to be wrong a moment ago.
   */
  find(digest: string): VerifiedToken | 'forged' | undefined
  /** Keeps a verified token until its end (in milliseconds), for five minutes at most. */
  accept(digest: string, accepted: Accepted): void
  /** Keeps for ten seconds that the signature of a token is wrong. */
  refuse(digest: string, keySet: KeySet): void
  /** The number of tokens kept as good. */
  size(): number
}

/** Remembers tokens for as long as the keys stay that they were verified with. `now` is in milliseconds. */
export function createTokenMemory(options: TokenMemoryOptions, now: () => number): TokenMemory {
  const accepted = new LRUCache<string, Accepted>({
    max: options.maxEntries ?? 50_000,
    maxSize: options.maxBytes ?? 64 * 1024 * 1024,
    sizeCalculation: ({ verified }) => bytesOf(verified),
  })
  // A memory of their own, so that forged tokens cannot drive out good ones.
  const forged = new LRUCache<string, Verdict>({ max: maxForged })

  function holds({ until, generation, keySet }: Verdict): boolean {
    return now() < until && keySet.current()?.generation === generation
  }

  return {
    find(digest) {
      const known = accepted.get(digest)
      if (known !== undefined && holds(known)) return known.verified
      const refused = forged.get(digest)
      return refused !== undefined && holds(refused) ? 'forged' : undefined
    },
    accept(digest, entry) {
      accepted.set(digest, { ...entry, until: Math.min(entry.until, now() + maxAcceptedMs) })
    },
    refuse(digest, keySet) {
      const generation = keySet.current()?.generation
      if (generation !== undefined) forged.set(digest, { keySet, generation, until: now() + maxForgedMs })
    },
    size: () => accepted.size,
  }
}
