import { LRUCache } from 'lru-cache'

/** How fast the buckets fill, and how much is in a full one. */
export interface BucketSettings {
  readonly perSecond: number
  readonly burst: number
  /** How many are remembered; default 100,000. The one that nobody asked for longest is forgotten, and so is full. */
  readonly maxKeys?: number
}

/** A bucket of tokens for each key. Times are milliseconds of a clock that never goes back. */
export interface TokenBuckets {
  /**
   * How long until a bucket holds so many tokens; 0 where it does. For more than one can hold, until it is full.
   */
  waitMs(key: string, tokens: number, now: number): number
  /** Takes tokens, whether or not they are there: a debt is filled up first. A negative number gives back. */
  take(key: string, tokens: number, now: number): void
}

/** Buckets that can be told what others took from them. */
export interface SyncableBuckets extends TokenBuckets {
  /** Says how long until a bucket is full; 0 where it is. */
  setFillTime(key: string, fillMs: number, now: number): void
}

/** Makes the buckets of the limit of that name. */
export type BucketFactory = (limit: string, settings: BucketSettings) => TokenBuckets

/** Less than this is an error of rounding. */
const minWaitMs = 0.001

/**
 * Buckets that are full. Of each is kept only when it will be full again (the generic cell rate algorithm), so
 * nothing has to be done as time passes.
 */
export function createBuckets({ perSecond, burst, maxKeys = 100_000 }: BucketSettings): SyncableBuckets {
  const msPerToken = 1000 / perSecond
  const fullAt = new LRUCache<string, number>({ max: maxKeys })
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
