import { createBuckets, type TokenBuckets, type BucketSettings } from '../token-buckets.ts'

/** What was taken from a bucket, in milliseconds of its filling; 0 only asks for what is there. */
export interface Charge {
  readonly key: string
  readonly ms: number
}

/** Buckets that several gateways take from. */
export interface SharedBuckets extends TokenBuckets {
  /** What was taken since this was called last. */
  takeCharges(): readonly Charge[]
  /** How full a bucket is with all charges that were handed out, and with those of others. */
  setFillTime(key: string, fillMs: number, now: number): void
  /** What was not handed out yet never will be. */
  discardCharges(): void
}

/** What the buckets need to know of where they are shared. */
export interface SyncState {
  /** Throws LimitsUnavailable (503) where nobody may be let in now. */
  assertAvailable(): void
  /** Whether what is taken can be passed on. */
  isSynced(): boolean
  /** There is something to pass on. */
  requestSync(): void
}

/**
 * Buckets that are taken from at once, as they were when they were last heard of; what was taken is passed on later.
 * What others took meanwhile is found out then, and leaves a debt where it was too much together.
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
      // Another gateway may have given something back.
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
