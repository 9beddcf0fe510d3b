import type { ServerResponse } from 'node:http'
import { InterfaceError } from '../interface/errors.ts'
import { ClientGone } from './client-gone.ts'

/** How many exchanges run at a time, and how many requests may wait for one of them to end. */
export interface PlacesSettings {
  readonly maximumConnections: number
  readonly maximumWaiting: number
  /** Milliseconds that a request waits before it is refused. */
  readonly waitMs: number
}

/** The places for exchanges with one upstream: as many as it may have connections. First come, first served. */
export interface Places {
  /** Takes a place if one is free. Whoever took one gives it back, once. */
  take(): boolean
  /**
   * Resolves when a place has been taken. Throws ServiceUnavailable (503 with `retry-after`) where too many wait or
   * it took too long, and ClientGone where the client does not wait.
   */
  wait(response: ServerResponse): Promise<void>
  give(): void
  taken(): number
  waiting(): number
}

/** Places that are all free. */
export function createPlaces({ maximumConnections, maximumWaiting, waitMs }: PlacesSettings): Places {
  let taken = 0
  const queue = new Set<() => void>()
  return {
    take() {
      if (taken >= maximumConnections) return false
      taken += 1
      return true
    },
    async wait(response) {
      if (response.destroyed) throw new ClientGone('the client closed the connection before its turn came')
      if (queue.size >= maximumWaiting) throw busy()
      await new Promise<void>((resolve, reject) => {
        const leave = (): void => {
          queue.delete(enter)
          clearTimeout(timer)
          response.off('close', clientClosed)
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
        response.once('close', clientClosed)
        queue.add(enter)
      })
    },
    give() {
      const [next] = queue
      if (next === undefined) taken -= 1
      else next()
    },
    taken: () => taken,
    waiting: () => queue.size,
  }
}

function busy(): InterfaceError {
  return new InterfaceError('ServiceUnavailable', 'the catalog is busy: too many requests wait for it', {
    headers: { 'retry-after': '1' },
  })
}
