import type { BucketStore } from './bucket-store.ts'
import { createBucketSync } from './bucket-sync.ts'
import type { SharedLimits } from './shared-limits.ts'
import { createSharedBuckets } from './shared-buckets.ts'

/** Timeout of the counting process, which does little else. */
const timeoutMs = 1_000

/** Counts in the process called by `charge`; while it does not respond, each process counts for itself. */
export function createWorkerSharedLimits(charge: BucketStore['charge']): SharedLimits {
  const sync = createBucketSync({
    connect: () => Promise.resolve({ charge, close: () => undefined }),
    timeoutMs,
    isClosedOnFailure: false,
    probeKey: '',
    observer: { synced: () => undefined, failed: () => undefined },
  })
  return {
    createBuckets(limit, settings) {
      const buckets = createSharedBuckets(settings, sync)
      sync.add({ buckets, getStoreKey: (key) => JSON.stringify([limit, key]) })
      return buckets
    },
    isReady: () => true,
    start: () => sync.start(),
    close: () => sync.close(),
  }
}
