import { InterfaceError } from '../../interface/errors.ts'
import type { ClientAnswer } from '../edge/client-answer.ts'
import { ClientGone } from '../edge/client-gone.ts'

/** How many exchanges run at a time, and how many requests may wait for one of them to end. */
export interface PlacesSettings {
  readonly maximumConnections: number
  readonly maximumWaiting: number
  /** Milliseconds that a request waits before it is refused. */
  readonly waitMs: number
}

/**
 * The places for exchanges with one upstream: as many as it may have connections. First come, first served, but what
 * yields comes after all that does not.
 */
export interface Places {
  /** Takes a place if one is free. Whoever took one gives it back, once. */
  take(): boolean
  /**
   * Resolves when a place has been taken. Throws ServiceUnavailable (503 with `retry-after`) where too many wait or
   * it took too long, and ClientGone where the client does not wait.
   */
  wait(response: ClientAnswer, yields: boolean): Promise<void>
  give(): void
  taken(): number
  waiting(): number
  /** Milliseconds that whoever waits longest has waited; 0 where nobody waits. */
  waitedMs(): number
}

/** Places that are all free. */
export function createPlaces({ maximumConnections, maximumWaiting, waitMs }: PlacesSettings): Places {
  let taken = 0
  /** Who waits, in order, and since when. */
  const first = new Map<() => void, number>()
  const last = new Map<() => void, number>()
  const waiting = (): number => first.size + last.size
  return {
    take() {
      if (taken >= maximumConnections) return false
      taken += 1
      return true
    },
    async wait(response, yields) {
      const queue = yields ? last : first
      if (response.isDestroyed) throw new ClientGone('the client closed the connection before its turn came')
      if (waiting() >= maximumWaiting) throw busy()
      await new Promise<void>((resolve, reject) => {
        const leave = (): void => {
          queue.delete(enter)
          clearTimeout(timer)
          response.closing.delete(clientClosed)
        }
        const enter = (): void => {
          leave()
          resolve()
        }
        const clientClosed = (): void => {
          leave()
          reject(new ClientGone('the client closed the connection before its turn came'))
        }
        const timer = setTimeout(() => {
          leave()
          reject(busy())
        }, waitMs)
        response.closing.add(clientClosed)
        queue.set(enter, performance.now())
      })
    },
    give() {
      const [next = last.keys().next().value] = first.keys()
      if (next === undefined) taken -= 1
      else next()
    },
    taken: () => taken,
    waiting,
    waitedMs() {
      const now = performance.now()
      const [since = now] = first.values()
      const [sinceOfLast = now] = last.values()
      return now - Math.min(since, sinceOfLast)
    },
  }
}

function busy(): InterfaceError {
  return new InterfaceError('ServiceUnavailable', 'the catalog is busy: too many requests wait for it', {
    headers: { 'retry-after': '1' },
  })
}
