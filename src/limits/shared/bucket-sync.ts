import { setTimeout as pause } from 'node:timers/promises'
import { createNotifier } from '../../lib/async/notifier.ts'
import type { BucketStore } from './bucket-store.ts'
import { LimitsUnavailable } from './limits-unavailable.ts'
import type { Charge, SharedBuckets, SyncState } from './shared-buckets.ts'
import { withTimeout } from '../../lib/async/with-timeout.ts'

/** Receives sync events. Must not throw. */
export interface SyncObserver {
  synced(seconds: number): void
  /** Nothing is shared until the next successful sync. */
  failed(error: unknown): void
}

export interface BucketSyncOptions {
  readonly connect: (onLost: () => void, signal: AbortSignal) => Promise<BucketStore>
  readonly timeoutMs: number
  /** Whether requests are refused while nothing is shared. */
  readonly isClosedOnFailure: boolean
  /** Key of an unused bucket, for probing the server. */
  readonly probeKey: string
  readonly observer: SyncObserver
}

/** Buckets and the mapping of their keys to shared ones. */
interface SyncedBuckets {
  readonly buckets: SharedBuckets
  readonly getStoreKey: (key: string) => string
}

/** Sends local charges to the server and applies the shared state. */
export interface BucketSync extends SyncState {
  /** Must be called before `start`. */
  add(synced: SyncedBuckets): void
  hasSynced(): boolean
  /** Resolves when it is known whether the server is reachable. Never rejects. */
  start(): Promise<void>
  /** Never rejects. */
  close(): Promise<void>
}

/** Batching period of charges: other gateways see them at most this much later, plus the network latency. */
const batchMs = 20
const probeIntervalMs = 5_000
/** Maximum keys per call: the server processes nothing else in the meantime. */
const maxKeys = 256
const [firstPauseMs, longestPauseMs] = [100, 5_000]
const probeMs = 1

/** Creates a sync, not started yet. Runs in the background with one call in flight; no request waits for it. */
export function createBucketSync(options: BucketSyncOptions): BucketSync {
  const { connect, timeoutMs, isClosedOnFailure, probeKey, observer } = options
  const all: SyncedBuckets[] = []
  const notifier = createNotifier()
  const ending = new AbortController()
  const { signal } = ending
  const probe: readonly Charge[] = [{ key: probeKey, ms: probeMs }]
  let isShared = false
  let wasShared = false
  let running: Promise<void> | undefined

  return {
    add: (synced) => void all.push(synced),
    isSynced: () => isShared,
    hasSynced: () => wasShared,
    requestSync: () => notifier.notify(),
    assertAvailable() {
      if (isClosedOnFailure && !isShared) throw new LimitsUnavailable()
    },
    start: () =>
      new Promise((tried) => {
        running = run(tried)
      }),
    async close() {
      ending.abort()
      notifier.notify()
      await running
    },
  }

  async function run(tried: () => void): Promise<void> {
    let pauseMs = firstPauseMs
    while (!signal.aborted) {
      const startedAt = performance.now()
      try {
        await serve(tried)
      } catch (error) {
        isShared = false
        // Charges made while sharing was impossible must not be applied later.
        for (const { buckets } of all) buckets.discardCharges()
        if (!signal.aborted) observer.failed(error)
      }
      tried()
      // Continue to back off if connections are lost repeatedly.
      if (performance.now() - startedAt > longestPauseMs) pauseMs = firstPauseMs
      await idle(pauseMs * (0.5 + Math.random() / 2))
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    }
  }

  /** Syncs over one connection until it fails or the sync is closed. */
  async function serve(tried: () => void): Promise<void> {
    const connection = await connect(notifier.notify, signal)
    try {
      while (!signal.aborted) {
        await sync(connection)
        isShared = true
        wasShared = true
        tried()
        await idle(batchMs)
        await notifier.wait(probeIntervalMs)
      }
    } finally {
      connection.close()
    }
  }

  async function sync(connection: BucketStore): Promise<void> {
    const charges = all.flatMap(({ buckets, getStoreKey }) =>
      buckets.takeCharges().map(({ key, ms }) => ({ buckets, localKey: key, key: getStoreKey(key), ms })),
    )
    const startedAt = performance.now()
    const responses = splitCharges(charges.length > 0 ? charges : probe).map((group) =>
      connection.charge(group),
    )
    const fills = (await withTimeout(Promise.all(responses), timeoutMs, signal)).flat()
    const now = performance.now()
    charges.forEach(({ buckets, localKey }, index) => buckets.setFillTime(localKey, fills[index] ?? 0, now))
    observer.synced((now - startedAt) / 1000)
  }

  async function idle(ms: number): Promise<void> {
    await pause(ms, undefined, { signal }).catch(() => undefined)
  }
}

function splitCharges(charges: readonly Charge[]): readonly (readonly Charge[])[] {
  const count = Math.ceil(charges.length / maxKeys)
  return Array.from({ length: count }, (_, index) => charges.slice(index * maxKeys, (index + 1) * maxKeys))
}
