import type { ReportEvent } from '../identity-event.ts'
import type { JwksTiming } from '../../config/identity/token-issuer-settings.ts'
import type { JwksFile } from './jwks-file.ts'
import type { FetchJwks } from './fetch-jwks.ts'
import { parseJwks, type Jwks, type JwksStatus, type JwksSnapshot } from './jwks.ts'
import { AuthenticationError } from '../authentication-error.ts'

/** How far the clock may have gone back since keys were kept on disk. */
const maxClockChangeMs = 60_000

/** Where keys come from that are fetched, and what goes with them. */
export interface RemoteJwksOptions {
  readonly fetch: FetchJwks
  /** Where the last good keys are kept for the next start. */
  readonly jwksFile: JwksFile | undefined
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
export async function openRemoteJwks(times: JwksTiming, options: RemoteJwksOptions): Promise<Jwks> {
  const keySet = new RemoteJwks(times, options)
  await keySet.fetch()
  if (keySet.current() === undefined) await keySet.restore()
  return keySet
}

class RemoteJwks implements Jwks {
  readonly #times: JwksTiming
  readonly #options: RemoteJwksOptions
  readonly #closing = new AbortController()
  #snapshot: JwksSnapshot | undefined
  #fetchedAt: number | undefined
  #fetches = 0
  #consecutiveFailures = 0
  #lastFailure: unknown
  #pending: Promise<void> | undefined
  #lastRequirementFetchAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  /** Ends when all that was to be kept on disk is there, one after the other. */
  #persisting: Promise<void> = Promise.resolve()

  constructor(times: JwksTiming, options: RemoteJwksOptions) {
    this.#times = times
    this.#options = options
  }

  current(): JwksSnapshot | undefined {
    const { maxStaleSeconds } = this.#times
    if (this.#fetchedAt === undefined) return undefined
    return this.#options.now() - this.#fetchedAt < maxStaleSeconds * 1000 ? this.#snapshot : undefined
  }

  async refresh(): Promise<JwksSnapshot> {
    await (this.#pending ?? this.#fetchOnRequirement())
    const snapshot = this.current()
    // Who could not ask the issuer cannot say that a key is not the issuer's.
    if (snapshot === undefined || this.#consecutiveFailures > 0) {
      throw new AuthenticationError('jwks_unavailable', this.#lastFailure)
    }
    return snapshot
  }

  /** One fetch at a time, for all who ask; its outcome, good or bad, is kept here. */
  fetch(): Promise<void> {
    this.#pending ??= this.#fetchNow().finally(() => {
      this.#pending = undefined
      this.#scheduleFetch()
    })
    return this.#pending
  }

  /** Takes the keys that were kept on disk; they are as old as they are. */
  async restore(): Promise<void> {
    const { name, now, jwksFile, report } = this.#options
    try {
      const found = await jwksFile?.read()
      // Keys from the future would never get too old.
      if (found === undefined || found.fetchedAt > now() + maxClockChangeMs) return
      this.#snapshot ??= parseJwks(found.text, undefined)
      this.#fetchedAt ??= found.fetchedAt
    } catch (cause) {
      report({ source: name, outcome: 'failed', cause })
    }
  }

  status(): JwksStatus {
    return {
      keyCount: this.#snapshot?.keyCount ?? 0,
      isUsable: this.current() !== undefined,
      fetchedAt: this.#fetchedAt,
      fetches: this.#fetches,
      consecutiveFailures: this.#consecutiveFailures,
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    await this.#pending
    await this.#persisting
  }

  /** Counts its own cooldown: a fetch in the background must not keep a new key from being found. */
  #fetchOnRequirement(): Promise<void> | undefined {
    const now = this.#options.now()
    if (now - this.#lastRequirementFetchAt < this.#times.cooldownSeconds * 1000) return undefined
    this.#lastRequirementFetchAt = now
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
      this.#snapshot = parseJwks(text, before)
      this.#fetchedAt = now()
      this.#consecutiveFailures = 0
      if (this.#snapshot !== before) report({ source: name, outcome: 'changed' })
      this.#persist(text, this.#fetchedAt)
    } catch (cause) {
      this.#consecutiveFailures++
      this.#lastFailure = cause
      if (!this.#closing.signal.aborted) report({ source: name, outcome: 'failed', cause })
    }
  }

  /** Nobody waits for the disk, and a disk that fails is no reason to refuse anybody. */
  #persist(text: string, fetchedAt: number): void {
    const { name, jwksFile, report } = this.#options
    if (jwksFile === undefined) return
    this.#persisting = this.#persisting
      .then(() => jwksFile.write({ text, fetchedAt }))
      .catch((cause: unknown) => report({ source: name, outcome: 'unwritten', cause }))
  }

  /** Before the keys get old; after failures in 1, 2, 4 ... seconds, up to the cooldown. */
  #scheduleFetch(): void {
    if (this.#closing.signal.aborted) return
    const { refreshSeconds, cooldownSeconds } = this.#times
    const failures = this.#consecutiveFailures
    const seconds = failures === 0 ? refreshSeconds * 0.8 : Math.min(cooldownSeconds, 2 ** (failures - 1))
    this.#timer = setTimeout(() => void this.fetch(), seconds * 1000)
    this.#timer.unref()
  }
}
