import { createBuckets } from '../limits/token-buckets.ts'
import type { Charge } from '../limits/shared/shared-buckets.ts'

/** As many keys as several limits may hold in one process. */
const maxKeys = 1_000_000

/** Adds charges, and returns the milliseconds until each bucket is full. An evicted bucket counts as full. */
export function createChargeCounter(): (charges: readonly Charge[]) => readonly number[] {
  // One token is one millisecond, whatever the unit of the limit. These buckets only count; they never refuse.
  const buckets = createBuckets({ perSecond: 1000, burst: 0, maxKeys })
  return (charges) => {
    const now = performance.now()
    return charges.map(({ key, ms }) => {
      if (ms !== 0) buckets.take(key, ms, now)
      return buckets.waitMs(key, 0, now)
    })
  }
}
