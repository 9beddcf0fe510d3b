import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { SharedLimitsSettings } from '../../config/index.ts'
import { Backoff, withTimeout } from '../../lib/index.ts'
import type { Outbound } from '../../outbound/index.ts'
import { type BucketStore, openBucketStore, readRedisAccess } from './bucket-store.ts'
import { type BucketSettings, type Charge, TokenBuckets } from '../token-buckets.ts'

/** Receives sync events. Must not throw. */
export interface SyncObserver {
  synced(seconds: number): void
  /** Nothing is shared until the next successful sync. */
  failed(error: unknown): void
}

/** Batching period of charges: other gateways see them at most this much later, plus the network latency. */
const batchMs = 20
/** Of an unused bucket, while there are no charges. */
const probeIntervalMs = 5_000
const probe: readonly Charge[] = [{ key: formatKey('probe'), ms: 1 }]
const pauseBounds = { minMs: 100, maxMs: 5_000 }

/**
 * Syncs in the background with one call in flight; no request waits for it. Rejects if a file cannot be used, but not if the
 * server is unreachable. After `timeoutMs` without a response, a gateway counts alone.
 */
export async function openSharedLimits(
  settings: SharedLimitsSettings,
  outbound: Outbound,
  observer: SyncObserver,
  timeoutMs = 500,
) {
  await readRedisAccess(settings, outbound)
  const shared: { readonly buckets: TokenBuckets; readonly storeKey: (key: string) => string }[] = []
  const closing = new AbortController()
  const { signal } = closing
  let isSynced = false
  let running: Promise<void> | undefined
  return {
    /** Must not be called after `start`. */
    createBuckets: (limit: string, bucketSettings: BucketSettings): TokenBuckets => {
      const { perSecond, burst } = bucketSettings
      const buckets = new TokenBuckets(bucketSettings, () => isSynced)
      // Settings are part of the key, so that gateways with old and new settings can run concurrently.
      shared.push({ buckets, storeKey: (key) => formatKey(limit, perSecond, burst, key) })
      return buckets
    },
    /** Starts sharing. Resolves when it is known whether the server is reachable. Never rejects. */
    start: () =>
      new Promise<void>((onAttempt) => {
        running = run(onAttempt)
      }),
    /** Never rejects. */
    async close(): Promise<void> {
      closing.abort()
      await running
    },
  }

  async function run(onAttempt: () => void): Promise<void> {
    const pauses = new Backoff(pauseBounds)
    while (!signal.aborted) {
      const startedAt = performance.now()
      try {
        await syncUntilFailure(onAttempt)
      } catch (error) {
        isSynced = false
        // Charges made while sharing was impossible must not be applied later.
        takeCharges()
        if (!signal.aborted) observer.failed(error)
      }
      onAttempt()
      // Continue to back off if connections are lost repeatedly.
      if (performance.now() - startedAt > pauseBounds.maxMs) pauses.reset()
      await sleep(pauses.next())
    }
  }

  /** Syncs over one connection until it fails or the limits are closed. */
  async function syncUntilFailure(onAttempt: () => void): Promise<void> {
    const connection = await openBucketStore(settings, outbound, signal)
    let probeAt = -Infinity
    try {
      while (!signal.aborted) {
        const charges = takeCharges()
        if (charges.length > 0 || connection.isLost() || performance.now() >= probeAt) {
          await sync(connection, charges)
          probeAt = performance.now() + probeIntervalMs
          isSynced = true
          onAttempt()
        }
        await sleep(batchMs)
      }
    } finally {
      connection.close()
    }
  }

  function takeCharges() {
    return shared.flatMap(({ buckets, storeKey }) =>
      buckets.takeCharges().map(({ key, ms }) => ({ buckets, localKey: key, key: storeKey(key), ms })),
    )
  }

  async function sync(connection: BucketStore, charges: ReturnType<typeof takeCharges>): Promise<void> {
    const startedAt = performance.now()
    const charging = connection.charge(charges.length > 0 ? charges : probe)
    const fills = await withTimeout(charging, timeoutMs, signal)
    const now = performance.now()
    charges.forEach(({ buckets, localKey }, index) => buckets.setFillTime(localKey, fills[index] ?? 0, now))
    observer.synced((now - startedAt) / 1000)
  }

  async function sleep(ms: number): Promise<void> {
    await pause(ms, undefined, { signal }).catch(() => undefined)
  }
}

/** Without names of principals and namespaces, which must not be stored on the server. */
function formatKey(...parts: readonly unknown[]): string {
  const digest = hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22)
  // The hash tag in braces makes a cluster store all keys in one slot.
  return `{catalog-gateway}:${digest}`
}
