import { setTimeout as pause } from 'node:timers/promises'
import { createBell } from './bell.ts'
import type { Connection } from './connection.ts'
import { LimitsUnavailable } from './limits-unavailable.ts'
import type { Charge, SharedBuckets, Sharing } from './shared-buckets.ts'
import { within } from './within.ts'

/** Hears how exchanges go. Must not throw. */
export interface ExchangeObserver {
  exchanged(seconds: number): void
  /** Nothing is shared until something is exchanged again. */
  failed(error: unknown): void
}

/** What exchanges are made with. */
export interface ExchangeOptions {
  readonly connect: (onLost: () => void, signal: AbortSignal) => Promise<Connection>
  readonly timeoutMs: number
  /** Whether requests are refused while nothing is shared. */
  readonly isClosedOnFailure: boolean
  /** What stands for nobody's bucket, to find out whether charges are taken. */
  readonly probeKey: string
  readonly observer: ExchangeObserver
}

/** Buckets and how their keys are called where they are shared. */
interface Exchanged {
  readonly buckets: SharedBuckets
  readonly nameOf: (key: string) => string
}

/** Passes on what was taken here, and hears what is taken everywhere. */
export interface Exchange extends Sharing {
  /** To be called before it starts. */
  add(exchanged: Exchanged): void
  /** Whether it ever went well. */
  wasShared(): boolean
  /** Begins, and resolves when it is known whether the server can be reached. Never rejects. */
  start(): Promise<void>
  /** Never rejects. */
  close(): Promise<void>
}

/** How long what is taken is gathered: so much later at most do others know of it, but for the way. */
const gatherMs = 20
/** A connection that is not used is tried out so often. */
const idleMs = 5_000
/** So many keys at a time: the server does nothing else meanwhile. */
const maximumKeys = 256
const [firstPauseMs, longestPauseMs] = [100, 5_000]
/** What stands for the lifetime of a probe. */
const probeMs = 1

/** An exchange that was not started yet. No request waits for it: it has one at a time under way, all by itself. */
export function createExchange(options: ExchangeOptions): Exchange {
  const { connect, timeoutMs, isClosedOnFailure, probeKey, observer } = options
  const all: Exchanged[] = []
  const bell = createBell()
  const ending = new AbortController()
  const { signal } = ending
  const probe: readonly Charge[] = [{ key: probeKey, ms: probeMs }]
  let isShared = false
  let wasShared = false
  let running: Promise<void> | undefined

  return {
    add: (exchanged) => void all.push(exchanged),
    isShared: () => isShared,
    wasShared: () => wasShared,
    wake: () => bell.ring(),
    assertUsable() {
      if (isClosedOnFailure && !isShared) throw new LimitsUnavailable()
    },
    start: () =>
      new Promise((tried) => {
        running = run(tried)
      }),
    async close() {
      ending.abort()
      bell.ring()
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
        for (const { buckets } of all) buckets.forget()
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
    const connection = await connect(bell.ring, signal)
    try {
      while (!signal.aborted) {
        await exchange(connection)
        isShared = true
        wasShared = true
        tried()
        await idle(gatherMs)
        await bell.rung(idleMs)
      }
    } finally {
      connection.close()
    }
  }

  async function exchange(connection: Connection): Promise<void> {
    const owed = all.flatMap(({ buckets, nameOf }) =>
      buckets.charges().map(({ key, ms }) => ({ buckets, taken: key, key: nameOf(key), ms })),
    )
    const startedAt = performance.now()
    const answers = groupsOf(owed.length > 0 ? owed : probe).map((group) => connection.charge(group))
    const fills = (await within(Promise.all(answers), timeoutMs, signal)).flat()
    const now = performance.now()
    owed.forEach(({ buckets, taken }, index) => buckets.settle(taken, fills[index] ?? 0, now))
    observer.exchanged((now - startedAt) / 1000)
  }

  async function idle(ms: number): Promise<void> {
    await pause(ms, undefined, { signal }).catch(() => undefined)
  }
}

function groupsOf(charges: readonly Charge[]): readonly (readonly Charge[])[] {
  const count = Math.ceil(charges.length / maximumKeys)
  return Array.from({ length: count }, (_, index) =>
    charges.slice(index * maximumKeys, (index + 1) * maximumKeys),
  )
}
