interface Queue {
  active: number
  readonly pending: (() => void)[]
}

/** Runs at most `max` tasks of one key at a time, in the order of the calls. */
export class ConcurrencyLimit {
  readonly #max: number
  readonly #queues = new Map<string, Queue>()

  constructor(max: number) {
    this.#max = max
  }

  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { active: 0, pending: [] }
    this.#queues.set(key, queue)
    // A task that ends passes its slot to the next one.
    if (queue.active === this.#max) await new Promise<void>((resolve) => queue.pending.push(resolve))
    else queue.active += 1
    try {
      return await task()
    } finally {
      const next = queue.pending.shift()
      if (next !== undefined) next()
      else queue.active -= 1
      if (queue.active === 0) this.#queues.delete(key)
    }
  }
}
