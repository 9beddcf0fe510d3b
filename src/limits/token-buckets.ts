import { LRUCache } from 'lru-cache'
import { withoutReserve } from '../lib/index.ts'

export interface BucketSettings {
  readonly perSecond: number
  readonly burst: number
}

/** Amount taken from a bucket, in milliseconds of its refill; 0 only queries the state. */
export interface Charge {
  readonly key: string
  readonly ms: number
}

export type BucketFactory = (limit: string, settings: BucketSettings) => TokenBuckets

/** Of one set of buckets. The least recently used one is evicted and then counts as full. */
const maxKeys = 100_000
/** Smaller values are rounding errors. */
const minWaitMs = 0.001

/**
 * One token bucket per key. Stores only when each is full again (generic cell rate algorithm), so no timer is needed. Times
 * are milliseconds of a monotonic clock.
 *
 * While they are shared, buckets are charged at once, based on the last known state: concurrent charges by other gateways
 * become known with the next sync, and an excess leaves a debt.
 */
export class TokenBuckets {
  readonly #burst: number
  readonly #msPerToken: number
  readonly #isShared: () => boolean
  readonly #fullAt: LRUCache<string, number>
  #unsent = new Map<string, number>()

  constructor({ perSecond, burst }: BucketSettings, isShared = () => false) {
    this.#burst = burst
    this.#msPerToken = 1000 / perSecond
    this.#isShared = isShared
    this.#fullAt = new LRUCache(withoutReserve(maxKeys))
  }

  /** 0 if the bucket contains the tokens. For more than its capacity: until it is full. */
  waitMs(key: string, tokens: number, now: number): number {
    const fillMs = Math.max(0, (this.#fullAt.get(key) ?? now) - now)
    const wait = fillMs - (this.#burst - Math.min(tokens, this.#burst)) * this.#msPerToken
    if (wait <= minWaitMs) return 0
    // The server may have lost its state.
    this.#addCharge(key, 0)
    return wait
  }

  /** Takes tokens even if there are too few: a debt is refilled first. */
  take(key: string, tokens: number, now: number): void {
    const ms = tokens * this.#msPerToken
    this.#fullAt.set(key, Math.max(now, this.#fullAt.get(key) ?? now) + ms)
    this.#addCharge(key, ms)
  }

  /** Returns and clears the charges to share since the last call. */
  takeCharges(): readonly Charge[] {
    const charges = Array.from(this.#unsent, ([key, ms]) => ({ key, ms }))
    this.#unsent = new Map()
    return charges
  }

  /** The time until a bucket is full, with all charges returned so far, also those of other gateways. */
  setFillTime(key: string, fillMs: number, now: number): void {
    this.#fullAt.set(key, now + Math.max(0, fillMs + (this.#unsent.get(key) ?? 0)))
  }

  #addCharge(key: string, ms: number): void {
    if (this.#isShared()) this.#unsent.set(key, (this.#unsent.get(key) ?? 0) + ms)
  }
}
