import type { ReportEvent } from '../identity-event.ts'
import type { JwksTiming } from '../../config/identity/token-issuer-settings.ts'
import type { JwksFile } from './jwks-file.ts'
import type { FetchJwks } from './fetch-jwks.ts'
import { parseJwks, type Jwks, type JwksStatus, type JwksSnapshot } from './jwks.ts'
import { AuthenticationError } from '../authentication-error.ts'

/** Tolerated backward change of the clock since keys were written to disk. */
const maxClockChangeMs = 60_000

export interface RemoteJwksOptions {
  readonly fetch: FetchJwks
  /** File of the last valid keys for the next start. */
  readonly jwksFile: JwksFile | undefined
  readonly name: string
  readonly report: ReportEvent
  /** Current time in milliseconds. */
  readonly now: () => number
}

/**
 * Fetches keys before they expire, and when a token refers to an unknown key; concurrent requests share one fetch,
 * limited to one per cooldown. If the first fetch fails, uses the keys on disk, or opens without keys.
 */
export async function openRemoteJwks(timing: JwksTiming, options: RemoteJwksOptions): Promise<Jwks> {
  const jwks = new RemoteJwks(timing, options)
  await jwks.fetch()
  if (jwks.current() === undefined) await jwks.restore()
  return jwks
}

class RemoteJwks implements Jwks {
  readonly #timing: JwksTiming
  readonly #options: RemoteJwksOptions
  readonly #closing = new AbortController()
  #snapshot: JwksSnapshot | undefined
  #fetchedAt: number | undefined
  #fetches = 0
  #consecutiveFailures = 0
  #lastFailure: unknown
  #pending: Promise<void> | undefined
  #lastOnDemandFetchAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  /** Serializes writes to disk. */
  #persisting: Promise<void> = Promise.resolve()

  constructor(timing: JwksTiming, options: RemoteJwksOptions) {
    this.#timing = timing
    this.#options = options
  }

  current(): JwksSnapshot | undefined {
    const { maxStaleSeconds } = this.#timing
    if (this.#fetchedAt === undefined) return undefined
    return this.#options.now() - this.#fetchedAt < maxStaleSeconds * 1000 ? this.#snapshot : undefined
  }

  async refresh(): Promise<JwksSnapshot> {
    await (this.#pending ?? this.#fetchOnDemand())
    const snapshot = this.current()
    // While the issuer is unavailable, an unknown key cannot be ruled out.
    if (snapshot === undefined || this.#consecutiveFailures > 0) {
      throw new AuthenticationError('jwks_unavailable', this.#lastFailure)
    }
    return snapshot
  }

  /** Starts a fetch, or joins the one in progress; records its result. */
  fetch(): Promise<void> {
    this.#pending ??= this.#fetchNow().finally(() => {
      this.#pending = undefined
      this.#scheduleFetch()
    })
    return this.#pending
  }

  /** Loads the keys from disk; they keep their original age. */
  async restore(): Promise<void> {
    const { name, now, jwksFile, report } = this.#options
    try {
      const found = await jwksFile?.read()
      // Keys with a future time would never expire.
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

  /** Has its own cooldown, so that a background fetch does not delay the discovery of a new key. */
  #fetchOnDemand(): Promise<void> | undefined {
    const now = this.#options.now()
    if (now - this.#lastOnDemandFetchAt < this.#timing.cooldownSeconds * 1000) return undefined
    this.#lastOnDemandFetchAt = now
    return this.fetch()
  }

  async #fetchNow(): Promise<void> {
    const { timeoutSeconds } = this.#timing
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

  /** Not awaited: a failing disk must not cause refusals. */
  #persist(text: string, fetchedAt: number): void {
    const { name, jwksFile, report } = this.#options
    if (jwksFile === undefined) return
    this.#persisting = this.#persisting
      .then(() => jwksFile.write({ text, fetchedAt }))
      .catch((cause: unknown) => report({ source: name, outcome: 'unwritten', cause }))
  }

  /** Schedules a fetch before the keys expire; after failures, in 1, 2, 4 ... seconds up to the cooldown. */
  #scheduleFetch(): void {
    if (this.#closing.signal.aborted) return
    const { refreshSeconds, cooldownSeconds } = this.#timing
    const failures = this.#consecutiveFailures
    const seconds = failures === 0 ? refreshSeconds * 0.8 : Math.min(cooldownSeconds, 2 ** (failures - 1))
    this.#timer = setTimeout(() => void this.fetch(), seconds * 1000)
    this.#timer.unref()
  }
}
