import { createBuckets, type TokenBuckets, type BucketSettings } from '../token-buckets.ts'

/** Amount taken from a bucket, in milliseconds of its refill; 0 only queries the state. */
export interface Charge {
  readonly key: string
  readonly ms: number
}

export interface SharedBuckets extends TokenBuckets {
  /** Returns and clears the charges since the last call. */
  takeCharges(): readonly Charge[]
  /** The fill time includes all charges returned so far, also those of other gateways. */
  setFillTime(key: string, fillMs: number, now: number): void
}

/**
 * Buckets are charged at once, based on the last known shared state. Concurrent charges by other gateways become known
 * with the next sync; an excess leaves a debt. While nothing can be shared, charges are only local.
 */
export function createSharedBuckets(settings: BucketSettings, isShared: () => boolean): SharedBuckets {
  const local = createBuckets(settings)
  const msPerToken = 1000 / settings.perSecond
  let unsent = new Map<string, number>()
  const addCharge = (key: string, ms: number): void => {
    if (isShared()) unsent.set(key, (unsent.get(key) ?? 0) + ms)
  }
  return {
    waitMs(key, tokens, now) {
      const wait = local.waitMs(key, tokens, now)
      // Another gateway may have returned tokens.
      if (wait > 0) addCharge(key, 0)
      return wait
    },
    take(key, tokens, now) {
      local.take(key, tokens, now)
      addCharge(key, tokens * msPerToken)
    },
    takeCharges() {
      const charges = Array.from(unsent, ([key, ms]) => ({ key, ms }))
      unsent = new Map()
      return charges
    },
    setFillTime: (key, fillMs, now) =>
      local.setFillTime(key, Math.max(0, fillMs + (unsent.get(key) ?? 0)), now),
  }
}
