import { LRUCache } from 'lru-cache'
import { withoutReserve } from '../lib/index.ts'
import { AuthenticationError, type CredentialRefusal } from './authentication-error.ts'
import type { VerifiedToken } from './jwt/claims.ts'

/** The callers of a day. */
const maxAccepted = 50_000
/** An estimate. Reached before `maxAccepted` if tokens contain many groups. */
const maxAcceptedBytes = 64 * 1024 * 1024
const maxRefused = 10_000
const refusedMs = 10_000

interface Entry {
  readonly fromMs: number
  readonly untilMs: number
  /** Whether what the token was verified by is still in force. */
  readonly isCurrent: () => boolean
}

/**
 * Results of verifications by the SHA-256 of the token in hex. Refused tokens are apart, so that random ones cannot evict
 * valid ones. Times are in milliseconds.
 */
export class TokenCache {
  readonly #accepted: LRUCache<string, Entry & { readonly verified: VerifiedToken }>
  readonly #refused = new LRUCache<string, Entry & { readonly reason: CredentialRefusal }>(
    withoutReserve(maxRefused),
  )
  readonly #now: () => number

  constructor(now: () => number, max = maxAccepted, maxSize = maxAcceptedBytes) {
    this.#accepted = new LRUCache({
      max,
      maxSize,
      sizeCalculation: ({ verified }) => estimateBytes(verified),
    })
    this.#now = now
  }

  get size(): number {
    return this.#accepted.size
  }

  /** Undefined if the token must be verified. Throws AuthenticationError if it was refused. */
  find(digest: string): VerifiedToken | undefined {
    const accepted = this.#accepted.get(digest)
    if (accepted !== undefined && this.#isValid(accepted)) return accepted.verified
    const refused = this.#refused.get(digest)
    if (refused !== undefined && this.#isValid(refused)) throw new AuthenticationError(refused.reason)
    return undefined
  }

  accept(digest: string, verified: VerifiedToken, untilMs: number, isCurrent = () => true): void {
    this.#accepted.set(digest, { verified, fromMs: this.#now(), untilMs, isCurrent })
  }

  /** Refuses the token for ten seconds. */
  refuse(digest: string, reason: CredentialRefusal, isCurrent = () => true): void {
    const fromMs = this.#now()
    this.#refused.set(digest, { reason, fromMs, untilMs: fromMs + refusedMs, isCurrent })
  }

  /** Not before its time, which is the case only if the clock was set back: a revoked token would be accepted for longer. */
  #isValid({ fromMs, untilMs, isCurrent }: Entry): boolean {
    const now = this.#now()
    return now >= fromMs && now < untilMs && isCurrent()
  }
}

function estimateBytes({ principal }: VerifiedToken): number {
  let bytes = 512 + principal.name.length + principal.credentialId.length
  // Twice the length of the text: the memory of objects is unknown.
  if (principal.claims !== undefined) bytes += 2 * JSON.stringify(principal.claims).length
  for (const group of principal.groups) bytes += 64 + group.length
  return bytes
}
