import type { ReportEvent } from './event.ts'
import { fetchKeySet } from './fetch-key-set.ts'
import type { RemoteKeys } from './issuers.ts'
import { readKeySet, type KeySet, type KeySetStatus, type KeySnapshot } from './key-set.ts'
import { AuthenticationRefused } from './refusal.ts'

/** What keys that are fetched need besides their source. */
export interface RemoteKeySetOptions {
  /** The name of the issuer. */
  readonly name: string
  readonly report: ReportEvent
  /** The time in milliseconds. */
  readonly now: () => number
}

/**
 * Keys fetched from the issuer: in the background before they get old, and when a token names an unknown
 * key, then once for all who wait, and once in a cooldown. Waits for the first fetch, and opens also if that
 * fails.
 */
export async function openRemoteKeySet(source: RemoteKeys, options: RemoteKeySetOptions): Promise<KeySet> {
  const keySet = new RemoteKeySet(source, options)
  await keySet.fetch()
  return keySet
}

class RemoteKeySet implements KeySet {
  readonly #source: RemoteKeys
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

  constructor(source: RemoteKeys, options: RemoteKeySetOptions) {
    this.#source = source
    this.#options = options
  }

  current(): KeySnapshot | undefined {
    const { maxStaleSeconds } = this.#source
    if (this.#fetchedAt === undefined) return undefined
    return this.#options.now() - this.#fetchedAt < maxStaleSeconds * 1000 ? this.#snapshot : undefined
  }

  async refresh(): Promise<KeySnapshot> {
    await (this.#pending ?? this.#fetchOnDemand())
    const snapshot = this.current()
    // Who could not ask the issuer cannot say that a key is not the issuer's.
    if (snapshot === undefined || this.#failuresInARow > 0) {
      throw new AuthenticationRefused('keys_unavailable', this.#lastFailure)
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

  status(): KeySetStatus {
    return {
      keys: this.#snapshot?.keys ?? 0,
      usable: this.current() !== undefined,
      fetchedAt: this.#fetchedAt,
      fetches: this.#fetches,
      failuresInARow: this.#failuresInARow,
    }
  }

  close(): void {
    this.#closing.abort()
    clearTimeout(this.#timer)
  }

  /** Counts its own cooldown: a fetch in the background must not keep a new key from being found. */
  #fetchOnDemand(): Promise<void> | undefined {
    const now = this.#options.now()
    if (now - this.#demandedAt < this.#source.cooldownSeconds * 1000) return undefined
    this.#demandedAt = now
    return this.fetch()
  }

  async #fetchNow(): Promise<void> {
    const { url, timeoutSeconds } = this.#source
    const { name, now, report } = this.#options
    clearTimeout(this.#timer)
    this.#fetches++
    try {
      const timeout = AbortSignal.timeout(timeoutSeconds * 1000)
      const text = await fetchKeySet(url, AbortSignal.any([timeout, this.#closing.signal]))
      const before = this.#snapshot
      this.#snapshot = readKeySet(text, before)
      this.#fetchedAt = now()
      this.#failuresInARow = 0
      if (this.#snapshot !== before) report({ source: name, outcome: 'changed' })
    } catch (cause) {
      this.#failuresInARow++
      this.#lastFailure = cause
      if (!this.#closing.signal.aborted) report({ source: name, outcome: 'failed', cause })
    }
  }

  /** Before the keys get old; after failures in 1, 2, 4 ... seconds, up to the cooldown. */
  #fetchLater(): void {
    if (this.#closing.signal.aborted) return
    const { refreshSeconds, cooldownSeconds } = this.#source
    const failures = this.#failuresInARow
    const seconds = failures === 0 ? refreshSeconds * 0.8 : Math.min(cooldownSeconds, 2 ** (failures - 1))
    this.#timer = setTimeout(() => void this.fetch(), seconds * 1000)
    this.#timer.unref()
  }
}
