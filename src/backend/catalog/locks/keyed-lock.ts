interface LockQueue {
  /** Settles when the last exclusive work ends. */
  exclusive: Promise<unknown>
  /** The shared work started since then that has not ended. */
  shared: Set<Promise<unknown>>
  pending: number
}

/** Runs exclusive work apart from all other work with the same key, in the order of the calls. */
export class KeyedLock {
  readonly #queues = new Map<string, LockQueue>()

  async runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#getQueue(key)
    const before = Promise.all([queue.exclusive, ...queue.shared])
    const result = before.then(work)
    queue.exclusive = this.#waitForEnd(key, queue, result)
    queue.shared = new Set()
    return await result
  }

  async runShared<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#getQueue(key)
    const result = queue.exclusive.then(work)
    const { shared } = queue
    const ended = this.#waitForEnd(key, queue, result).finally(() => shared.delete(ended))
    shared.add(ended)
    return await result
  }

  async runIfFree(key: string, work: () => Promise<void>): Promise<void> {
    if (!this.#queues.has(key)) await this.runExclusive(key, work)
  }

  #getQueue(key: string): LockQueue {
    const queue = this.#queues.get(key) ?? { exclusive: Promise.resolve(), shared: new Set(), pending: 0 }
    this.#queues.set(key, queue)
    queue.pending += 1
    return queue
  }

  /** Resolves when the work has ended; never rejects. The last work of a queue removes the queue. */
  async #waitForEnd(key: string, queue: LockQueue, result: Promise<unknown>): Promise<void> {
    await result.catch(() => {})
    queue.pending -= 1
    if (queue.pending === 0) this.#queues.delete(key)
  }
}
