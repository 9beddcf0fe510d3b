interface BackoffBounds {
  /** The first delay, in milliseconds. */
  readonly minMs: number
  readonly maxMs: number
}

/**
 * Delays between attempts, in milliseconds: each is twice as long as the one before, up to a maximum. A random half is
 * taken off, so that processes that lost the same peer do not try again together.
 */
export class Backoff {
  readonly #bounds: BackoffBounds
  #delayMs: number

  constructor(bounds: BackoffBounds) {
    this.#bounds = bounds
    this.#delayMs = bounds.minMs
  }

  next(): number {
    const delayMs = this.#delayMs * (0.5 + Math.random() / 2)
    this.#delayMs = Math.min(this.#delayMs * 2, this.#bounds.maxMs)
    return delayMs
  }

  /** After a success, the next delay is the first one again. */
  reset(): void {
    this.#delayMs = this.#bounds.minMs
  }
}
