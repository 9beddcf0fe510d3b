import { LRUCache } from 'lru-cache'
import type { VerifiedToken } from './jwt/claims.ts'

/** An estimate, reached by fewer tokens if they contain many groups. */
const maxBytes = 64 * 1024 * 1024
/** So at most 50,000 tokens, the callers of a day: a bound of their number would reserve memory for all of them. */
const leastBytes = Math.ceil(maxBytes / 50_000)

interface Entry {
  readonly verified: VerifiedToken
  readonly fromMs: number
  readonly untilMs: number
  /** Whether the keys that verified the token are still in force. */
  readonly isCurrent: () => boolean
}

/** Tokens that were accepted, by their SHA-256 in hex. Times are in milliseconds. */
export class TokenCache {
  readonly #entries: LRUCache<string, Entry>
  readonly #now: () => number

  constructor(now: () => number, maxSize = maxBytes) {
    this.#entries = new LRUCache({ maxSize, sizeCalculation: ({ verified }) => estimateBytes(verified) })
    this.#now = now
  }

  get size(): number {
    return this.#entries.size
  }

  /** Undefined if the token must be verified. */
  find(digest: string): VerifiedToken | undefined {
    const entry = this.#entries.get(digest)
    const now = this.#now()
    // Before its time only if the clock was set back: a revoked token would be accepted for longer.
    const isValid = entry !== undefined && now >= entry.fromMs && now < entry.untilMs && entry.isCurrent()
    return isValid ? entry.verified : undefined
  }

  add(digest: string, verified: VerifiedToken, untilMs: number, isCurrent = () => true): void {
    this.#entries.set(digest, { verified, fromMs: this.#now(), untilMs, isCurrent })
  }
}

function estimateBytes({ principal }: VerifiedToken): number {
  let bytes = 512 + principal.name.length + principal.credentialId.length
  // Twice the length of the text: the memory of objects is unknown.
  if (principal.claims !== undefined) bytes += 2 * JSON.stringify(principal.claims).length
  for (const group of principal.groups) bytes += 64 + group.length
  return Math.max(bytes, leastBytes)
}
