import { ownedBy } from '../../lib/index.ts'
import { type CatalogError, refusal } from '../../catalog-api/index.ts'
import { FairCapacity } from '../../limits/index.ts'
import type { UpstreamBounds } from '../bounds.ts'
import { ClientDisconnected, type DownstreamResponse } from '../downstream.ts'

/**
 * The slots of a connection pool, one for each active request. Principals share them and the queue as FairCapacity
 * defines. A released slot goes to the pending principal that holds the fewest, and among equals to the one served
 * least recently; the requests of one principal are served in order.
 */
export class ConnectionSlots extends FairCapacity {
  /** The requests that wait for a slot. */
  readonly queue: FairCapacity
  readonly #queueTimeoutMs: number
  /** By principal, the one served least recently first: callbacks that end the wait of a request, with its start. */
  readonly #pending = new Map<string, Map<() => void, number>>()

  constructor(
    maxActive: number,
    maxHeldToFree: number,
    { maxPendingRequests, queueTimeoutMs }: UpstreamBounds,
  ) {
    super(maxActive, maxHeldToFree)
    this.queue = new FairCapacity(maxPendingRequests)
    this.#queueTimeoutMs = queueTimeoutMs
  }

  /** Milliseconds since the oldest pending request arrived; 0 if there is none. */
  oldestPendingMs(): number {
    const now = performance.now()
    let oldest = now
    for (const requests of this.#pending.values()) {
      const [since = now] = requests.values()
      oldest = Math.min(oldest, since)
    }
    return now - oldest
  }

  /**
   * Resolves when a slot has been taken. Throws ServiceUnavailable (503 with `retry-after`) if the queue is full or the
   * request was pending for too long, and ClientDisconnected if the client closes the connection.
   */
  async wait(
    holder: string,
    response: Pick<DownstreamResponse, 'fail' | 'isDestroyed' | 'onClose'>,
  ): Promise<void> {
    if (response.isDestroyed) throw new ClientDisconnected()
    if (!this.queue.take(holder)) throw noConnectionError('too many requests wait for one')
    await new Promise<void>((resolve, reject) => {
      const end = (error?: Error): void => {
        this.#dequeue(holder, proceed)
        clearTimeout(timer)
        response.onClose.delete(onClose)
        if (error === undefined) resolve()
        else reject(error)
      }
      const proceed = (): void => end()
      const onClose = (): void => end(new ClientDisconnected())
      const expire = ownedBy(response, () =>
        end(noConnectionError(`none became free within ${this.#queueTimeoutMs / 1000} s`)),
      )
      const timer = setTimeout(expire, this.#queueTimeoutMs)
      response.onClose.add(onClose)
      const requests = this.#pending.get(holder) ?? new Map<() => void, number>()
      this.#pending.set(holder, requests.set(proceed, performance.now()))
    })
  }

  override release(holder: string): void {
    super.release(holder)
    for (;;) {
      const next = this.#findNextHolder()
      if (next === undefined || !this.take(next)) return
      const requests = this.#pending.get(next) ?? new Map<() => void, number>()
      const [proceed] = requests.keys()
      if (requests.size > 1) {
        this.#pending.delete(next)
        this.#pending.set(next, requests)
      }
      proceed?.()
    }
  }

  #dequeue(holder: string, proceed: () => void): void {
    this.queue.release(holder)
    const requests = this.#pending.get(holder)
    requests?.delete(proceed)
    if (requests?.size === 0) this.#pending.delete(holder)
  }

  #findNextHolder(): string | undefined {
    let found: string | undefined
    let fewest = Infinity
    for (const holder of this.#pending.keys()) {
      const held = this.held(holder)
      if (held >= fewest) continue
      found = holder
      fewest = held
      if (held === 0) break
    }
    return found
  }
}

function noConnectionError(problem: string): CatalogError {
  return refusal('upstream_queue_full', `no connection to the upstream is free, and ${problem}; retry in 1 s`)
}
