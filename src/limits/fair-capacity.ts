/** Who holds a part of a capacity: a principal, by its key, or a part of the gateway itself. */
export type Holder = string | symbol

/**
 * A capacity that principals share without being told how many there are: each may hold at most `heldToFree` times as
 * much as stays free. With 1, the first of those that never release gets a half, the second a quarter, and so on: the
 * next one still gets some. (Dynamic thresholds, as in switches with a shared buffer: Choudhury and Hahne, 1998.)
 */
export class FairCapacity {
  readonly limit: number
  readonly #heldToFree: number
  #taken = 0
  readonly #held = new Map<Holder, number>()

  constructor(limit: number, heldToFree: number) {
    this.limit = limit
    this.#heldToFree = heldToFree
  }

  get taken(): number {
    return this.#taken
  }

  held(holder: Holder): number {
    return this.#held.get(holder) ?? 0
  }

  /** Whether the holder may have that much more now. */
  mayTake(holder: Holder, amount = 1): boolean {
    const free = this.limit - this.#taken
    return amount <= free && this.held(holder) + amount <= this.#heldToFree * free
  }

  /** Takes it if the holder may have it. All of it must be released. */
  take(holder: Holder, amount = 1): boolean {
    if (!this.mayTake(holder, amount)) return false
    this.#taken += amount
    this.#held.set(holder, this.held(holder) + amount)
    return true
  }

  release(holder: Holder, amount = 1): void {
    this.#taken -= amount
    const left = this.held(holder) - amount
    if (left > 0) this.#held.set(holder, left)
    else this.#held.delete(holder)
  }
}
