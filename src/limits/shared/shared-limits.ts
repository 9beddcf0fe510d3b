import { hash } from 'node:crypto'
import type { BucketFactory } from '../token-buckets.ts'
import { readRedisAccess } from './redis-access.ts'
import { openBucketStore } from './bucket-store.ts'
import { createBucketSync, type SyncObserver } from './bucket-sync.ts'
import { createSharedBuckets } from './shared-buckets.ts'
import type { SharedLimitsSettings } from '../../config/shared-limits-settings.ts'

/** Limits that several gateways count together. */
export interface SharedLimits {
  readonly createBuckets: BucketFactory
  /** Whether they have been shared, or need not be for requests to be let in. */
  readonly isReady: () => boolean
  /** Begins to share, and resolves when it is known whether the server can be reached. Never rejects. */
  start(): Promise<void>
  /** Never rejects. */
  close(): Promise<void>
}

/**
 * Limits that are counted in Redis or Valkey. Whoever has none does not import this file: the library takes its time
 * and memory. Throws where a file of the settings cannot be read or used; that the server cannot be reached is no
 * reason not to start.
 */
export async function openSharedLimits(
  settings: SharedLimitsSettings,
  observer: SyncObserver,
): Promise<SharedLimits> {
  await readRedisAccess(settings)
  const { keyPrefix, timeoutMs, onFailure } = settings
  // What stands in braces decides where a cluster keeps a key: all in one place.
  const nameOf = (...parts: readonly unknown[]): string => `{${keyPrefix}}:${digest(JSON.stringify(parts))}`
  const call = createBucketSync({
    connect: (onLost, signal) => openBucketStore(settings, onLost, signal),
    timeoutMs,
    isClosedOnFailure: onFailure === 'closed',
    probeKey: nameOf('probe'),
    observer,
  })
  return {
    createBuckets(limit, bucketSettings) {
      const { perSecond, burst } = bucketSettings
      const buckets = createSharedBuckets(bucketSettings, call)
      // A limit that was changed is another one: gateways of both settings may run side by side.
      call.add({ buckets, getStoreKey: (key) => nameOf(limit, perSecond, burst, key) })
      return buckets
    },
    isReady: () => onFailure === 'open' || call.hasSynced(),
    start: () => call.start(),
    close: () => call.close(),
  }
}

/** Names of principals and namespaces do not stand in the server. */
function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22)
}
