interface LockQueue {
  /** The end of the last work that was to run alone. */
  exclusive: Promise<unknown>
  /** The ends of the work that was to be shared, since then. */
  shared: Promise<unknown>[]
  pending: number
}

/** Keeps apart, for each key, work that must run alone from all other work, in the order of asking. */
export class KeyedLock {
  readonly #queues = new Map<string, LockQueue>()

  /** Runs `work` when all work that was asked for under the same key before has ended, well or not. */
  async runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#getQueue(key)
    const before = Promise.all([queue.exclusive, ...queue.shared])
    const result = before.then(work)
    queue.exclusive = this.#waitForEnd(key, queue, result)
    queue.shared = []
    return await result
  }

  /** Runs `work` together with other shared work, when the work before that was to run alone has ended. */
  async runShared<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#getQueue(key)
    const result = queue.exclusive.then(work)
    queue.shared.push(this.#waitForEnd(key, queue, result))
    return await result
  }

  /** Runs `work` alone if there is no other work under the same key; does nothing otherwise. */
  async runIfFree(key: string, work: () => Promise<void>): Promise<void> {
    if (!this.#queues.has(key)) await this.runExclusive(key, work)
  }

  #getQueue(key: string): LockQueue {
    const queue = this.#queues.get(key) ?? { exclusive: Promise.resolve(), shared: [], pending: 0 }
    this.#queues.set(key, queue)
    queue.pending += 1
    return queue
  }

  /** Resolves when the work has ended, and never rejects. The last one of a queue removes it. */
  async #waitForEnd(key: string, queue: LockQueue, result: Promise<unknown>): Promise<void> {
    await result.catch(() => {})
    queue.pending -= 1
    if (queue.pending === 0) this.#queues.delete(key)
  }
}
