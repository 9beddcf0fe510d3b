/** Maximum ratio of the age that is subtracted at random, so that simultaneous connections do not expire together. */
const ageJitter = 0.1

/** The age of a connection, with a maximum. */
export class ConnectionAge {
  /** On the clock of performance.now(). */
  readonly #expiresAt: number

  constructor(maxAgeMs: number) {
    this.#expiresAt = performance.now() + maxAgeMs * (1 - ageJitter * Math.random())
  }

  get isExpired(): boolean {
    return performance.now() >= this.#expiresAt
  }
}
