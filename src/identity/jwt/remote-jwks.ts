import { Backoff } from '../../lib/index.ts'
import type { IdentityRuntime, JwksTiming } from '../runtime.ts'
import type { FetchJwks } from './fetch-jwks.ts'
import { parseJwks, reportChange, type Jwks, type JwksStatus, type JwksSnapshot } from './jwks.ts'
import { AuthenticationError } from '../authentication-error.ts'

export const defaultJwksTiming: JwksTiming = { refresh: 600, cooldown: 30, maxStale: 86_400, timeout: 5 }

/**
 * Fetches keys before they expire, and when a token refers to an unknown key; concurrent requests share one fetch,
 * limited to one per cooldown. If the first fetch fails, opens without keys. `name` is that of the issuer in reports.
 */
export async function openRemoteJwks(
  name: string,
  fetch: FetchJwks,
  runtime: IdentityRuntime,
): Promise<Jwks> {
  const jwks = new RemoteJwks(name, fetch, runtime)
  await jwks.fetch()
  return jwks
}

class RemoteJwks implements Jwks {
  readonly #name: string
  readonly #fetchDocument: FetchJwks
  readonly #runtime: IdentityRuntime
  readonly #timing: JwksTiming
  readonly #closing = new AbortController()
  #snapshot: JwksSnapshot | undefined
  #fetchedAt: number | undefined
  #fetches = 0
  #consecutiveFailures = 0
  readonly #backoff: Backoff
  #lastFailure: unknown
  #pending: Promise<void> | undefined
  #lastOnDemandFetchAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(name: string, fetch: FetchJwks, runtime: IdentityRuntime) {
    this.#name = name
    this.#fetchDocument = fetch
    this.#runtime = runtime
    this.#timing = { ...defaultJwksTiming, ...runtime.jwksTiming }
    const maxMs = this.#timing.cooldown * 1000
    this.#backoff = new Backoff({ minMs: Math.min(1_000, maxMs), maxMs })
  }

  current(): JwksSnapshot | undefined {
    if (this.#fetchedAt === undefined) return undefined
    const ageMs = this.#runtime.now() - this.#fetchedAt
    return ageMs < this.#timing.maxStale * 1000 ? this.#snapshot : undefined
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
  }

  /** Has its own cooldown, so that a background fetch does not delay the discovery of a new key. */
  #fetchOnDemand(): Promise<void> | undefined {
    const now = this.#runtime.now()
    const ageMs = now - this.#lastOnDemandFetchAt
    // Negative if the clock was set back: new keys would remain unknown until it is there again.
    if (ageMs >= 0 && ageMs < this.#timing.cooldown * 1000) return undefined
    this.#lastOnDemandFetchAt = now
    return this.fetch()
  }

  async #fetchNow(): Promise<void> {
    const { now, report } = this.#runtime
    clearTimeout(this.#timer)
    this.#fetches++
    try {
      const timeout = AbortSignal.timeout(this.#timing.timeout * 1000)
      const document = await this.#fetchDocument(AbortSignal.any([timeout, this.#closing.signal]))
      const before = this.#snapshot
      this.#snapshot = parseJwks(document, before)
      this.#fetchedAt = now()
      this.#consecutiveFailures = 0
      this.#backoff.reset()
      if (this.#snapshot !== before) reportChange(this.#snapshot, this.#name, report)
    } catch (cause) {
      this.#consecutiveFailures++
      this.#lastFailure = cause
      if (!this.#closing.signal.aborted) report({ source: this.#name, outcome: 'failed', cause })
    }
  }

  /** Schedules a fetch before the keys expire; after failures, with growing delays up to the cooldown. */
  #scheduleFetch(): void {
    if (this.#closing.signal.aborted) return
    const beforeExpiryMs = this.#timing.refresh * 800
    const delayMs = this.#consecutiveFailures === 0 ? beforeExpiryMs : this.#backoff.next()
    this.#timer = setTimeout(() => void this.fetch(), delayMs)
    this.#timer.unref()
  }
}
