import { setTimeout as pause } from 'node:timers/promises'
import { Backoff } from '../../lib/async/backoff.ts'
import type { BucketStore } from './bucket-store.ts'
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
  /** Key of an unused bucket, for probing the server. */
  readonly probeKey: string
  readonly observer: SyncObserver
}

interface SyncedBuckets {
  readonly buckets: SharedBuckets
  readonly getStoreKey: (key: string) => string
}

export interface BucketSync extends SyncState {
  /** Must be called before `start`. */
  add(synced: SyncedBuckets): void
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
const pauseBounds = { minMs: 100, maxMs: 5_000 }
const probeMs = 1

/** Syncs in the background with one call in flight; no request waits for it. */
export function createBucketSync(options: BucketSyncOptions): BucketSync {
  const { connect, timeoutMs, probeKey, observer } = options
  const allBuckets: SyncedBuckets[] = []
  const notifier = createNotifier()
  const closing = new AbortController()
  const { signal } = closing
  const probe: readonly Charge[] = [{ key: probeKey, ms: probeMs }]
  let isSynced = false
  let running: Promise<void> | undefined

  return {
    add: (synced) => void allBuckets.push(synced),
    isSynced: () => isSynced,
    requestSync: () => notifier.notify(),
    start: () =>
      new Promise((onAttempt) => {
        running = run(onAttempt)
      }),
    async close() {
      closing.abort()
      notifier.notify()
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
        for (const { buckets } of allBuckets) buckets.discardCharges()
        if (!signal.aborted) observer.failed(error)
      }
      onAttempt()
      // Continue to back off if connections are lost repeatedly.
      if (performance.now() - startedAt > pauseBounds.maxMs) pauses.reset()
      await sleep(pauses.next())
    }
  }

  /** Syncs over one connection until it fails or the sync is closed. */
  async function syncUntilFailure(onAttempt: () => void): Promise<void> {
    const connection = await connect(notifier.notify, signal)
    try {
      while (!signal.aborted) {
        await sync(connection)
        isSynced = true
        onAttempt()
        await sleep(batchMs)
        await notifier.wait(probeIntervalMs)
      }
    } finally {
      connection.close()
    }
  }

  async function sync(connection: BucketStore): Promise<void> {
    const charges = allBuckets.flatMap(({ buckets, getStoreKey }) =>
      buckets.takeCharges().map(({ key, ms }) => ({ buckets, localKey: key, key: getStoreKey(key), ms })),
    )
    const startedAt = performance.now()
    const results = splitCharges(charges.length > 0 ? charges : probe).map((part) => connection.charge(part))
    const fills = (await withTimeout(Promise.all(results), timeoutMs, signal)).flat()
    const now = performance.now()
    charges.forEach(({ buckets, localKey }, index) => buckets.setFillTime(localKey, fills[index] ?? 0, now))
    observer.synced((now - startedAt) / 1000)
  }

  async function sleep(ms: number): Promise<void> {
    await pause(ms, undefined, { signal }).catch(() => undefined)
  }
}

function splitCharges(charges: readonly Charge[]): readonly (readonly Charge[])[] {
  const count = Math.ceil(charges.length / maxKeys)
  return Array.from({ length: count }, (_, index) => charges.slice(index * maxKeys, (index + 1) * maxKeys))
}

/** Wakes the waiting task; a notification without one wakes the next `wait`. */
interface Notifier {
  readonly notify: () => void
  /** Resolves on notification, or after `ms` milliseconds. */
  readonly wait: (ms: number) => Promise<void>
}

function createNotifier(): Notifier {
  let isNotified = false
  let wake: (() => void) | undefined
  return {
    notify() {
      isNotified = true
      wake?.()
    },
    async wait(ms) {
      if (!isNotified) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      wake = undefined
      isNotified = false
    },
  }
}
