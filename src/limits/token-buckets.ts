import { LRUCache } from 'lru-cache'
import { withoutReserve } from '../lib/index.ts'

export interface BucketSettings {
  readonly perSecond: number
  readonly burst: number
  /** Maximum number of buckets; default 100,000. The least recently used one is evicted and then counts as full. */
  readonly maxKeys?: number
}

/** One token bucket per key. Times are milliseconds of a monotonic clock. */
export interface TokenBuckets {
  /** 0 if the bucket contains the tokens. For more than its capacity: until it is full. */
  waitMs(key: string, tokens: number, now: number): number
  /** Takes tokens even if there are too few: a debt is refilled first. A negative number returns tokens. */
  take(key: string, tokens: number, now: number): void
}

/** Applies charges of other gateways. */
export interface SyncableBuckets extends TokenBuckets {
  /** Sets the time until a bucket is full; 0 if it is. */
  setFillTime(key: string, fillMs: number, now: number): void
}

export type BucketFactory = (limit: string, settings: BucketSettings) => TokenBuckets

/** Smaller values are rounding errors. */
const minWaitMs = 0.001

/** Stores only when each bucket is full again (generic cell rate algorithm), so no timer is needed. */
export function createBuckets({ perSecond, burst, maxKeys = 100_000 }: BucketSettings): SyncableBuckets {
  const msPerToken = 1000 / perSecond
  const fullAt = new LRUCache<string, number>(withoutReserve(maxKeys))
  return {
    waitMs(key, tokens, now) {
      const fillMs = Math.max(0, (fullAt.get(key) ?? now) - now)
      const wait = fillMs - (burst - Math.min(tokens, burst)) * msPerToken
      return wait > minWaitMs ? wait : 0
    },
    take(key, tokens, now) {
      fullAt.set(key, Math.max(now, fullAt.get(key) ?? now) + tokens * msPerToken)
    },
    setFillTime(key, fillMs, now) {
      fullAt.set(key, now + fillMs)
    },
  }
}
