import { getAddressKey } from '../../lib/index.ts'

/**
 * Limits of a lingering close. Many clients write a whole upload before they read the response; closing the connection
 * earlier resets it, and they never see why they were refused.
 */
export const lingerLimits = {
  maxBytes: 64 * 1024 * 1024,
  maxMs: 60_000,
  minBytesPerSecond: 256 * 1024,
  /** Time before the minimum rate applies. */
  rateGraceMs: 2_000,
  maxPerAddress: 16,
  maxTotal: 64,
} as const

/** Reads and discards the rest of an upload after its response. Times are those of performance.now(). */
export class LingeringClose {
  readonly #since: number
  #bytes = 0

  constructor(since: number) {
    this.#since = since
  }

  /** Counts discarded bytes. Returns whether more may be discarded. */
  discard(bytes: number): boolean {
    this.#bytes += bytes
    return this.#bytes <= lingerLimits.maxBytes
  }

  /** Whether the upload has taken too long, or is too slow. */
  hasExpired(now: number): boolean {
    const { maxMs, minBytesPerSecond, rateGraceMs } = lingerLimits
    const elapsedMs = now - this.#since
    return elapsedMs > maxMs || this.#bytes < ((elapsedMs - rateGraceMs) / 1000) * minBytesPerSecond
  }
}

/** Counts the lingering closes of a server. */
export class LingerSlots {
  readonly #byAddress = new Map<string, number>()
  #total = 0

  /** Returns whether a connection of the address may linger; if so, it must be released once. */
  acquire(address: string): boolean {
    const key = getAddressKey(address)
    const ofAddress = this.#byAddress.get(key) ?? 0
    if (this.#total >= lingerLimits.maxTotal || ofAddress >= lingerLimits.maxPerAddress) return false
    this.#total += 1
    this.#byAddress.set(key, ofAddress + 1)
    return true
  }

  release(address: string): void {
    const key = getAddressKey(address)
    const left = (this.#byAddress.get(key) ?? 1) - 1
    this.#total -= 1
    if (left > 0) this.#byAddress.set(key, left)
    else this.#byAddress.delete(key)
  }
}
