import type { BucketStore } from './bucket-store.ts'
import { createBucketSync } from './bucket-sync.ts'
import type { SharedLimits } from './shared-limits.ts'
import { createSharedBuckets } from './shared-buckets.ts'

/** How long the process that counts may take: it does little else. */
const timeoutMs = 1_000

/**
 * Limits that processes of one gateway count together, in that one of them that `charge` asks. While it does not
 * answer, each counts for itself; none outlives it for long.
 */
export function createWorkerSharedLimits(charge: BucketStore['charge']): SharedLimits {
  const call = createBucketSync({
    connect: () => Promise.resolve({ charge, close: () => undefined }),
    timeoutMs,
    isClosedOnFailure: false,
    probeKey: '',
    observer: { synced: () => undefined, failed: () => undefined },
  })
  return {
    createBuckets(limit, settings) {
      const buckets = createSharedBuckets(settings, call)
      call.add({ buckets, getStoreKey: (key) => JSON.stringify([limit, key]) })
      return buckets
    },
    isReady: () => true,
    start: () => call.start(),
    close: () => call.close(),
  }
}
