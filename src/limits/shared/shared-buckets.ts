import { createBuckets, type TokenBuckets, type BucketSettings } from '../token-buckets.ts'

/** Amount taken from a bucket, in milliseconds of its refill; 0 only queries the state. */
export interface Charge {
  readonly key: string
  readonly ms: number
}

export interface SharedBuckets extends TokenBuckets {
  /** Returns and clears the charges since the last call. */
  takeCharges(): readonly Charge[]
  /** Sets how full a bucket is after all charges returned so far, including those of other gateways. */
  setFillTime(key: string, fillMs: number, now: number): void
  discardCharges(): void
}

/** State of the sharing, as used by the buckets. */
export interface SyncState {
  /** Throws LimitsUnavailable (503) if requests must be refused now. */
  assertAvailable(): void
  /** Whether charges can be sent. */
  isSynced(): boolean
  requestSync(): void
}

/**
 * Creates buckets that are charged immediately, based on the last known shared state; charges are sent later.
 * Concurrent charges by other gateways become known with the next sync, and an excess leaves a debt.
 */
export function createSharedBuckets(settings: BucketSettings, sharing: SyncState): SharedBuckets {
  const known = createBuckets(settings)
  const msPerToken = 1000 / settings.perSecond
  let owed = new Map<string, number>()
  const owe = (key: string, ms: number): void => {
    if (!sharing.isSynced()) return
    owed.set(key, (owed.get(key) ?? 0) + ms)
    sharing.requestSync()
  }
  return {
    waitMs(key, tokens, now) {
      sharing.assertAvailable()
      const wait = known.waitMs(key, tokens, now)
      // Another gateway may have returned tokens.
      if (wait > 0) owe(key, 0)
      return wait
    },
    take(key, tokens, now) {
      known.take(key, tokens, now)
      owe(key, tokens * msPerToken)
    },
    takeCharges() {
      const charges = Array.from(owed, ([key, ms]) => ({ key, ms }))
      owed = new Map()
      return charges
    },
    setFillTime: (key, fillMs, now) =>
      known.setFillTime(key, Math.max(0, fillMs + (owed.get(key) ?? 0)), now),
    discardCharges: () => owed.clear(),
  }
}
