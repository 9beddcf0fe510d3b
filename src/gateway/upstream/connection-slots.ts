import { ownedBy } from '../../lib/async/owned-tasks.ts'
import { type CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { FairCapacity, type CapacityHolder } from '../../limits/overload/fair-capacity.ts'
import { type DownstreamResponse, ClientDisconnected } from '../downstream.ts'

/** Limits on active and pending requests. */
export interface ConnectionSlotsOptions {
  readonly maxActive: number
  /** Maximum ratio of the slots that one principal holds to the free slots. */
  readonly maxHeldToFree: number
  readonly maxPending: number
  /** How long a request is pending before it is rejected, in milliseconds. */
  readonly queueTimeoutMs: number
}

/**
 * The slots of a connection pool, one for each active request. Principals share them and the queue as FairCapacity
 * defines. A released slot goes to the pending principal that holds the fewest, and among equals to the one served
 * least recently; the requests of one principal are served in order.
 */
export interface ConnectionSlots {
  readonly maxActive: number
  readonly maxPending: number
  active(): number
  pending(): number
  /** Milliseconds since the oldest pending request arrived; 0 if there is none. */
  oldestPendingMs(): number
  /** Whether a request of the principal would get a slot at once. */
  isFreeFor(holder: CapacityHolder): boolean
  /** Takes a slot if one is free for the principal; returns whether it did. Each slot must be released once. */
  take(holder: CapacityHolder): boolean
  /**
   * Resolves when a slot has been taken. Throws ServiceUnavailable (503 with `retry-after`) if the queue is full or the
   * request was pending for too long, and ClientDisconnected if the client closes the connection.
   */
  wait(holder: CapacityHolder, response: WaitingResponse): Promise<void>
  release(holder: CapacityHolder): void
}

/** The response to a request that waits for a slot. */
type WaitingResponse = Pick<DownstreamResponse, 'fail' | 'isDestroyed' | 'onClose'>

interface PendingRequest {
  readonly since: number
  readonly proceed: () => void
}

export function createConnectionSlots(options: ConnectionSlotsOptions): ConnectionSlots {
  const slots = new FairCapacity(options.maxActive, options.maxHeldToFree)
  const queue = new FairCapacity(options.maxPending, 1)
  /** By principal, the one served least recently first. */
  const pending = new Map<CapacityHolder, Set<PendingRequest>>()

  function enqueue(holder: CapacityHolder, request: PendingRequest): void {
    const requests = pending.get(holder)
    if (requests === undefined) pending.set(holder, new Set([request]))
    else requests.add(request)
  }

  function dequeue(holder: CapacityHolder, request: PendingRequest): void {
    queue.release(holder)
    const requests = pending.get(holder)
    requests?.delete(request)
    if (requests?.size === 0) pending.delete(holder)
  }

  function findNextHolder(): CapacityHolder | undefined {
    let found: CapacityHolder | undefined
    let fewest = Infinity
    for (const holder of pending.keys()) {
      const held = slots.held(holder)
      if (held >= fewest) continue
      found = holder
      fewest = held
      if (held === 0) break
    }
    return found
  }

  function grantSlots(): void {
    for (;;) {
      const holder = findNextHolder()
      if (holder === undefined || !slots.take(holder)) return
      const requests = pending.get(holder) ?? new Set()
      const [first] = requests
      if (requests.size > 1) {
        pending.delete(holder)
        pending.set(holder, requests)
      }
      first?.proceed()
    }
  }

  return {
    maxActive: options.maxActive,
    maxPending: options.maxPending,
    active: () => slots.used,
    pending: () => queue.used,
    oldestPendingMs() {
      const now = performance.now()
      let oldest = now
      for (const [first] of pending.values()) oldest = Math.min(oldest, first?.since ?? now)
      return now - oldest
    },
    isFreeFor: (holder) => slots.canTake(holder),
    take: (holder) => slots.take(holder),
    async wait(holder, response) {
      if (response.isDestroyed) throw createClientClosed()
      if (!queue.take(holder)) throw noConnectionError('too many requests wait for one')
      await new Promise<void>((resolve, reject) => {
        const stopWaiting = (): void => {
          dequeue(holder, request)
          clearTimeout(timer)
          response.onClose.delete(onClose)
        }
        const onClose = (): void => {
          stopWaiting()
          reject(createClientClosed())
        }
        const request: PendingRequest = {
          since: performance.now(),
          proceed() {
            stopWaiting()
            resolve()
          },
        }
        const expire = ownedBy(response, () => {
          stopWaiting()
          reject(noConnectionError(`none became free within ${options.queueTimeoutMs / 1000} s`))
        })
        const timer = setTimeout(expire, options.queueTimeoutMs)
        response.onClose.add(onClose)
        enqueue(holder, request)
      })
    },
    release(holder) {
      slots.release(holder)
      grantSlots()
    },
  }
}

function createClientClosed(): ClientDisconnected {
  return new ClientDisconnected('the client closed the connection while its request was pending')
}

function noConnectionError(problem: string): CatalogError {
  return refusal('upstream_queue_full', `no connection to the upstream is free, and ${problem}; retry in 1 s`)
}
