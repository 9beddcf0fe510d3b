/** About as many as stay in the caches of a processor, with all that belongs to them, from one turn to the next. */
const usualRequests = 32

/** Where a request waits until it may begin. */
export interface Line {
  /** Calls it once, unless it leaves before: at once, or later. */
  take(begin: () => void): void
  leave(begin: () => void): void
}

/**
 * Lets requests begin, so many in each turn of the event loop, in the order in which they came. When a thousand
 * connections ask at once and all of them begin, each waits half done for all others: it outlives collections of
 * garbage, and nothing of it is in a cache any more when its answer comes. Begun a few at a time, they take up to a
 * third less. What waits in line has cost nothing yet but the bytes that were read.
 */
export class Turns implements Line {
  readonly #requests: number
  #begun = 0
  /** Who waits, in order, and since when. */
  readonly #line = new Map<() => void, number>()

  constructor(requests = usualRequests) {
    this.#requests = requests
  }

  take(begin: () => void): void {
    if (this.#begun < this.#requests && this.#line.size === 0) this.#begin(begin)
    else this.#line.set(begin, performance.now())
  }

  leave(begin: () => void): void {
    this.#line.delete(begin)
  }

  /** Milliseconds that whoever is next has waited; 0 where nobody waits. */
  waitedMs(): number {
    const now = performance.now()
    const [since = now] = this.#line.values()
    return now - since
  }

  #begin(begin: () => void): void {
    if (this.#begun === 0) setImmediate(this.#turn)
    this.#begun += 1
    begin()
  }

  readonly #turn = (): void => {
    this.#begun = 0
    for (const begin of this.#line.keys()) {
      if (this.#begun === this.#requests) return
      this.#line.delete(begin)
      this.#begin(begin)
    }
  }
}
