import type { Connection } from './connection.ts'
import { createExchange } from './exchange.ts'
import type { SharedLimits } from './share-limits.ts'
import { createSharedBuckets } from './shared-buckets.ts'

/** How long the process that counts may take: it does little else. */
const timeoutMs = 1_000

/**
 * Limits that processes of one gateway count together, in that one of them that `charge` asks. While it does not
 * answer, each counts for itself; none outlives it for long.
 */
export function shareAmongWorkers(charge: Connection['charge']): SharedLimits {
  const exchange = createExchange({
    connect: () => Promise.resolve({ charge, close: () => undefined }),
    timeoutMs,
    isClosedOnFailure: false,
    probeKey: '',
    observer: { exchanged: () => undefined, failed: () => undefined },
  })
  return {
    makeBuckets(limit, settings) {
      const buckets = createSharedBuckets(settings, exchange)
      exchange.add({ buckets, nameOf: (key) => JSON.stringify([limit, key]) })
      return buckets
    },
    isReady: () => true,
    start: () => exchange.start(),
    close: () => exchange.close(),
  }
}
