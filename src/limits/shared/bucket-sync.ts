import { setTimeout as pause } from 'node:timers/promises'
import { createNotifier } from '../../lib/async/notifier.ts'
import type { BucketStore } from './bucket-store.ts'
import { LimitsUnavailable } from './limits-unavailable.ts'
import type { Charge, SharedBuckets, SyncState } from './shared-buckets.ts'
import { withTimeout } from '../../lib/async/with-timeout.ts'

/** Hears how exchanges go. Must not throw. */
export interface SyncObserver {
  synced(seconds: number): void
  /** Nothing is shared until something is exchanged again. */
  failed(error: unknown): void
}

/** What exchanges are made with. */
export interface BucketSyncOptions {
  readonly connect: (onLost: () => void, signal: AbortSignal) => Promise<BucketStore>
  readonly timeoutMs: number
  /** Whether requests are refused while nothing is shared. */
  readonly isClosedOnFailure: boolean
  /** What stands for nobody's bucket, to find out whether charges are taken. */
  readonly probeKey: string
  readonly observer: SyncObserver
}

/** Buckets and how their keys are called where they are shared. */
interface SyncedBuckets {
  readonly buckets: SharedBuckets
  readonly getStoreKey: (key: string) => string
}

/** Passes on what was taken here, and hears what is taken everywhere. */
export interface BucketSync extends SyncState {
  /** To be called before it starts. */
  add(exchanged: SyncedBuckets): void
  /** Whether it ever went well. */
  hasSynced(): boolean
  /** Begins, and resolves when it is known whether the server can be reached. Never rejects. */
  start(): Promise<void>
  /** Never rejects. */
  close(): Promise<void>
}

/** How long what is taken is gathered: so much later at most do others know of it, but for the way. */
const batchMs = 20
/** A connection that is not used is tried out so often. */
const probeIntervalMs = 5_000
/** So many keys at a time: the server does nothing else meanwhile. */
const maxKeys = 256
const [firstPauseMs, longestPauseMs] = [100, 5_000]
/** What stands for the lifetime of a probe. */
const probeMs = 1

/** An exchange that was not started yet. No request waits for it: it has one at a time under way, all by itself. */
export function createBucketSync(options: BucketSyncOptions): BucketSync {
  const { connect, timeoutMs, isClosedOnFailure, probeKey, observer } = options
  const all: SyncedBuckets[] = []
  const bell = createNotifier()
  const ending = new AbortController()
  const { signal } = ending
  const probe: readonly Charge[] = [{ key: probeKey, ms: probeMs }]
  let isShared = false
  let wasShared = false
  let running: Promise<void> | undefined

  return {
    add: (exchanged) => void all.push(exchanged),
    isSynced: () => isShared,
    hasSynced: () => wasShared,
    requestSync: () => bell.notify(),
    assertAvailable() {
      if (isClosedOnFailure && !isShared) throw new LimitsUnavailable()
    },
    start: () =>
      new Promise((tried) => {
        running = run(tried)
      }),
    async close() {
      ending.abort()
      bell.notify()
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
        // What was taken while nobody else could know is not held against anybody later.
        for (const { buckets } of all) buckets.discardCharges()
        if (!signal.aborted) observer.failed(error)
      }
      tried()
      // One that is lost again and again is not tried more and more often.
      if (performance.now() - startedAt > longestPauseMs) pauseMs = firstPauseMs
      await idle(pauseMs * (0.5 + Math.random() / 2))
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    }
  }

  /** Exchanges over one connection until it fails, or all ends. */
  async function serve(tried: () => void): Promise<void> {
    const connection = await connect(bell.notify, signal)
    try {
      while (!signal.aborted) {
        await call(connection)
        isShared = true
        wasShared = true
        tried()
        await idle(batchMs)
        await bell.wait(probeIntervalMs)
      }
    } finally {
      connection.close()
    }
  }

  async function call(connection: BucketStore): Promise<void> {
    const owed = all.flatMap(({ buckets, getStoreKey }) =>
      buckets.takeCharges().map(({ key, ms }) => ({ buckets, taken: key, key: getStoreKey(key), ms })),
    )
    const startedAt = performance.now()
    const responses = splitCharges(owed.length > 0 ? owed : probe).map((group) => connection.charge(group))
    const fills = (await withTimeout(Promise.all(responses), timeoutMs, signal)).flat()
    const now = performance.now()
    owed.forEach(({ buckets, taken }, index) => buckets.setFillTime(taken, fills[index] ?? 0, now))
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
