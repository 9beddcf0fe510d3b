import type { ReportEvent } from './event.ts'
import type { KeyTimes } from './issuers.ts'
import type { KeptKeys } from './kept-keys.ts'
import type { FetchKeys } from './key-source.ts'
import { readKeySet, type KeySet, type KeySetStatus, type KeySnapshot } from './key-set.ts'
import { AuthenticationRefused } from './refusal.ts'

/** How far the clock may have gone back since keys were kept on disk. */
const maxClockChangeMs = 60_000

/** Where keys come from that are fetched, and what goes with them. */
export interface RemoteKeySetOptions {
  readonly fetch: FetchKeys
  /** Where the last good keys are kept for the next start. */
  readonly kept: KeptKeys | undefined
  /** The name of the issuer. */
  readonly name: string
  readonly report: ReportEvent
  /** The time in milliseconds. */
  readonly now: () => number
}

/**
 * Keys fetched from the issuer: in the background before they get old, and when a token names an unknown
 * key, then once for all who wait, and once in a cooldown. Waits for the first fetch; if that fails, it takes
 * the keys that were kept on disk, or opens without any.
 */
export async function openRemoteKeySet(times: KeyTimes, options: RemoteKeySetOptions): Promise<KeySet> {
  const keySet = new RemoteKeySet(times, options)
  await keySet.fetch()
  if (keySet.current() === undefined) await keySet.restore()
  return keySet
}

class RemoteKeySet implements KeySet {
  readonly #times: KeyTimes
  readonly #options: RemoteKeySetOptions
  readonly #closing = new AbortController()
  #snapshot: KeySnapshot | undefined
  #fetchedAt: number | undefined
  #fetches = 0
  #failuresInARow = 0
  #lastFailure: unknown
  #pending: Promise<void> | undefined
  #demandedAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  /** Ends when all that was to be kept on disk is there, one after the other. */
  #keeping: Promise<void> = Promise.resolve()

  constructor(times: KeyTimes, options: RemoteKeySetOptions) {
    this.#times = times
    this.#options = options
  }

  current(): KeySnapshot | undefined {
    const { maxStaleSeconds } = this.#times
    if (this.#fetchedAt === undefined) return undefined
    return this.#options.now() - this.#fetchedAt < maxStaleSeconds * 1000 ? this.#snapshot : undefined
  }

  async refresh(): Promise<KeySnapshot> {
    await (this.#pending ?? this.#fetchOnDemand())
    const snapshot = this.current()
    // Who could not ask the issuer cannot say that a key is not the issuer's.
    if (snapshot === undefined || this.#failuresInARow > 0) {
      throw new AuthenticationRefused('jwks_unavailable', this.#lastFailure)
    }
    return snapshot
  }

  /** One fetch at a time, for all who ask; its outcome, good or bad, is kept here. */
  fetch(): Promise<void> {
    this.#pending ??= this.#fetchNow().finally(() => {
      this.#pending = undefined
      this.#fetchLater()
    })
    return this.#pending
  }

  /** Takes the keys that were kept on disk; they are as old as they are. */
  async restore(): Promise<void> {
    const { name, now, kept, report } = this.#options
    try {
      const found = await kept?.read()
      // Keys from the future would never get too old.
      if (found === undefined || found.fetchedAt > now() + maxClockChangeMs) return
      this.#snapshot ??= readKeySet(found.text, undefined)
      this.#fetchedAt ??= found.fetchedAt
    } catch (cause) {
      report({ source: name, outcome: 'failed', cause })
    }
  }

  status(): KeySetStatus {
    return {
      keys: this.#snapshot?.keys ?? 0,
      usable: this.current() !== undefined,
      fetchedAt: this.#fetchedAt,
      fetches: this.#fetches,
      failuresInARow: this.#failuresInARow,
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    await this.#pending
    await this.#keeping
  }

  /** Counts its own cooldown: a fetch in the background must not keep a new key from being found. */
  #fetchOnDemand(): Promise<void> | undefined {
    const now = this.#options.now()
    if (now - this.#demandedAt < this.#times.cooldownSeconds * 1000) return undefined
    this.#demandedAt = now
    return this.fetch()
  }

  async #fetchNow(): Promise<void> {
    const { timeoutSeconds } = this.#times
    const { name, now, report, fetch } = this.#options
    clearTimeout(this.#timer)
    this.#fetches++
    try {
      const timeout = AbortSignal.timeout(timeoutSeconds * 1000)
      const text = await fetch(AbortSignal.any([timeout, this.#closing.signal]))
      const before = this.#snapshot
      this.#snapshot = readKeySet(text, before)
      this.#fetchedAt = now()
      this.#failuresInARow = 0
      if (this.#snapshot !== before) report({ source: name, outcome: 'changed' })
      this.#keep(text, this.#fetchedAt)
    } catch (cause) {
      this.#failuresInARow++
      this.#lastFailure = cause
      if (!this.#closing.signal.aborted) report({ source: name, outcome: 'failed', cause })
    }
  }

  /** Nobody waits for the disk, and a disk that fails is no reason to refuse anybody. */
  #keep(text: string, fetchedAt: number): void {
    const { name, kept, report } = this.#options
    if (kept === undefined) return
    this.#keeping = this.#keeping
      .then(() => kept.write({ text, fetchedAt }))
      .catch((cause: unknown) => report({ source: name, outcome: 'unwritten', cause }))
  }

  /** Before the keys get old; after failures in 1, 2, 4 ... seconds, up to the cooldown. */
  #fetchLater(): void {
    if (this.#closing.signal.aborted) return
    const { refreshSeconds, cooldownSeconds } = this.#times
    const failures = this.#failuresInARow
    const seconds = failures === 0 ? refreshSeconds * 0.8 : Math.min(cooldownSeconds, 2 ** (failures - 1))
    this.#timer = setTimeout(() => void this.fetch(), seconds * 1000)
    this.#timer.unref()
  }
}
