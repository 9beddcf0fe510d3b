import { CatalogError } from 'catalog-gateway/catalog-api'

interface LockQueue {
  active: number
  isExclusive: boolean
  /** In the order of the calls. */
  readonly waiting: Set<{ readonly isExclusive: boolean; readonly start: () => void }>
}

/** Shorter than clients and gateways wait for a response. */
const waitTimeoutMs = 60_000

/**
 * Runs exclusive work apart from all other work with the same key. Work starts in the order of the calls; what has waited
 * for a minute throws ServiceUnavailable (503) instead, and is not done.
 */
export class KeyedLock {
  readonly #queues = new Map<string, LockQueue>()
  readonly #maxShared: number

  /** `maxShared`: how much shared work of one key runs at a time. */
  constructor(maxShared = Number.POSITIVE_INFINITY) {
    this.#maxShared = maxShared
  }

  /** How much work waits, with all keys. */
  get waiting(): number {
    return [...this.#queues.values()].reduce((sum, { waiting }) => sum + waiting.size, 0)
  }

  async runExclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    return await this.#run(key, true, work)
  }

  async runShared<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    return await this.#run(key, false, work)
  }

  async runIfFree(key: string, work: () => Promise<void>): Promise<void> {
    if (!this.#queues.has(key)) await this.#run(key, true, work)
  }

  async #run<Result>(key: string, isExclusive: boolean, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { active: 0, isExclusive: false, waiting: new Set() }
    this.#queues.set(key, queue)
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        queue.waiting.delete(waiter)
        this.#startWaiting(queue)
        const message = 'other changes of this object have taken too long; nothing was changed, retry'
        reject(new CatalogError('ServiceUnavailable', message, { headers: { 'retry-after': '5' } }))
      }, waitTimeoutMs)
      const start = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const waiter = { isExclusive, start }
      queue.waiting.add(waiter)
      this.#startWaiting(queue)
    })
    try {
      return await work()
    } finally {
      queue.active -= 1
      this.#startWaiting(queue)
      if (queue.active === 0) this.#queues.delete(key)
    }
  }

  #startWaiting(queue: LockQueue): void {
    for (const waiter of queue.waiting) {
      const canShare = !waiter.isExclusive && !queue.isExclusive && queue.active < this.#maxShared
      if (queue.active > 0 && !canShare) return
      queue.waiting.delete(waiter)
      queue.active += 1
      queue.isExclusive = waiter.isExclusive
      waiter.start()
    }
  }
}
