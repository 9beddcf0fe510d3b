import { CatalogError } from '../../catalog-api/index.ts'

/**
 * A capacity shared by an unknown number of principals: each may hold at most `maxHeldToFree` times the free amount. With
 * 1, the first holder that never releases gets a half, the second a quarter, and so on, so that the next one still gets
 * some. (Dynamic thresholds, as in switches with a shared buffer: Choudhury and Hahne, 1998.)
 */
export class FairCapacity {
  readonly capacity: number
  readonly #maxHeldToFree: number
  #used = 0
  readonly #held = new Map<string, number>()

  constructor(capacity: number, maxHeldToFree = 1) {
    this.capacity = capacity
    this.#maxHeldToFree = maxHeldToFree
  }

  get used(): number {
    return this.#used
  }

  held(holder: string): number {
    return this.#held.get(holder) ?? 0
  }

  canTake(holder: string, amount = 1): boolean {
    const free = this.capacity - this.#used
    return amount <= free && this.held(holder) + amount <= this.#maxHeldToFree * free
  }

  /** Takes the amount if permitted. All of it must be released. */
  take(holder: string, amount = 1): boolean {
    if (!this.canTake(holder, amount)) return false
    this.#used += amount
    this.#held.set(holder, this.held(holder) + amount)
    return true
  }

  release(holder: string, amount = 1): void {
    this.#used -= amount
    const left = this.held(holder) - amount
    if (left > 0) this.#held.set(holder, left)
    else this.#held.delete(holder)
  }
}

/** The gateway has no capacity for the request: 503 with `retry-after`, which the message repeats. */
export class Overloaded extends CatalogError {
  constructor(message = 'the gateway is overloaded') {
    // Jitter: simultaneous retries of clients would overload the gateway again.
    const seconds = String(1 + Math.floor(Math.random() * 5))
    super('ServiceUnavailable', `${message}; retry in ${seconds} s`, {
      reason: 'overloaded',
      headers: { 'retry-after': seconds },
    })
  }
}
