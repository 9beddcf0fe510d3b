import { hash } from 'node:crypto'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import type { BucketFactory } from '../token-buckets.ts'
import { readRedisAccess } from './redis-access.ts'
import { openBucketStore } from './bucket-store.ts'
import { createBucketSync, type SyncObserver } from './bucket-sync.ts'
import { createSharedBuckets } from './shared-buckets.ts'
import type { SharedLimitsSettings } from '../../config/index.ts'

export interface SharedLimits {
  readonly createBuckets: BucketFactory
  /** Starts sharing. Resolves when it is known whether the server is reachable. Never rejects. */
  start(): Promise<void>
  /** Never rejects. */
  close(): Promise<void>
}

/**
 * Import this file only if shared limits are configured: the library costs time and memory. Rejects if a file cannot be
 * used, but not if the server is unreachable. After `timeoutMs` without a response, a gateway counts alone.
 */
export async function openSharedLimits(
  settings: SharedLimitsSettings,
  outbound: Outbound,
  observer: SyncObserver,
  timeoutMs = 500,
): Promise<SharedLimits> {
  await readRedisAccess(settings, outbound)
  const sync = createBucketSync({
    connect: (onLost, signal) => openBucketStore(settings, outbound, onLost, signal),
    timeoutMs,
    probeKey: formatKey('probe'),
    observer,
  })
  return {
    createBuckets(limit, bucketSettings) {
      const { perSecond, burst } = bucketSettings
      const buckets = createSharedBuckets(bucketSettings, sync)
      // Settings are part of the key, so that gateways with old and new settings can run concurrently.
      sync.add({ buckets, getStoreKey: (key) => formatKey(limit, perSecond, burst, key) })
      return buckets
    },
    start: () => sync.start(),
    close: () => sync.close(),
  }
}

/** Without names of principals and namespaces, which must not be stored on the server. */
function formatKey(...parts: readonly unknown[]): string {
  const digest = hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22)
  // The hash tag in braces makes a cluster store all keys in one slot.
  return `{catalog-gateway}:${digest}`
}
