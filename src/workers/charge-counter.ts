import { createBuckets } from '../limits/token-buckets.ts'
import type { Charge } from '../limits/shared/shared-buckets.ts'

/** As many as several limits may remember in one process. */
const maxKeys = 1_000_000

/**
 * Counts what workers let callers take of limits: takes what was taken since, and answers for each bucket in how many
 * milliseconds it is full. A bucket that is forgotten is full.
 */
export function createChargeCounter(): (charges: readonly Charge[]) => readonly number[] {
  // A token is a millisecond here, whatever it is in the limit; nothing is ever let in or refused.
  const buckets = createBuckets({ perSecond: 1000, burst: 0, maxKeys })
  return (charges) => {
    const now = performance.now()
    return charges.map(({ key, ms }) => {
      if (ms !== 0) buckets.take(key, ms, now)
      return buckets.waitMs(key, 0, now)
    })
  }
}
