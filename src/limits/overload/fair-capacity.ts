import { CatalogError } from '../../catalog-api/index.ts'

/** Holder of a part of the capacity: the key of a principal, or a symbol for a part of the gateway itself. */
export type CapacityHolder = string | symbol

/**
 * A capacity shared by an unknown number of principals: each may hold at most `maxHeldToFree` times the free amount. With
 * 1, the first holder that never releases gets a half, the second a quarter, and so on, so that the next one still gets
 * some. (Dynamic thresholds, as in switches with a shared buffer: Choudhury and Hahne, 1998.)
 */
export class FairCapacity {
  readonly capacity: number
  readonly #maxHeldToFree: number
  #used = 0
  readonly #held = new Map<CapacityHolder, number>()

  constructor(capacity: number, maxHeldToFree = 1) {
    this.capacity = capacity
    this.#maxHeldToFree = maxHeldToFree
  }

  get used(): number {
    return this.#used
  }

  held(holder: CapacityHolder): number {
    return this.#held.get(holder) ?? 0
  }

  canTake(holder: CapacityHolder, amount = 1): boolean {
    const free = this.capacity - this.#used
    return amount <= free && this.held(holder) + amount <= this.#maxHeldToFree * free
  }

  /** Takes the amount if permitted. All of it must be released. */
  take(holder: CapacityHolder, amount = 1): boolean {
    if (!this.canTake(holder, amount)) return false
    this.#used += amount
    this.#held.set(holder, this.held(holder) + amount)
    return true
  }

  release(holder: CapacityHolder, amount = 1): void {
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

/** Bytes per request that need no reservation; almost all bodies are smaller. */
const unreservedBytes = 16 * 1024

/**
 * Reserves memory for the bodies of a request and its response that are buffered until it ends. Call the result with the bytes of each chunk before it
 * is buffered: it takes memory in powers of two, passes its release to `registerRelease`, and throws Overloaded (503) if the
 * holder may not hold more.
 */
export function createReservation(
  memory: FairCapacity,
  holder: CapacityHolder,
  registerRelease: (release: () => void) => void,
): (bytes: number) => void {
  let buffered = 0
  let reserved = unreservedBytes
  return (bytes) => {
    buffered += bytes
    while (buffered > reserved) {
      const increment = reserved
      if (!memory.take(holder, increment))
        throw new Overloaded(
          'the JSON of this caller, sent and not yet read, holds its share of the memory for bodies',
        )
      registerRelease(() => memory.release(holder, increment))
      reserved += increment
    }
  }
}
