import type { Operation } from '../../catalog-api/operations.ts'
import { getShedClass } from './shed-class.ts'

/**
 * The connection pools of an upstream. `bulk` is for requests whose body streams, up or down: a slow client holds such
 * a connection for as long as it likes. `listing` is for the reads of listings: one listing may need dozens of them.
 * `small` is for all others, which never wait for a client.
 */
export const poolNames = ['small', 'bulk', 'listing'] as const

export type PoolName = (typeof poolNames)[number]

/** Returns the pool for requests of an operation, unless a large JSON body makes one `bulk`. */
export function getPoolName(operation: Operation): PoolName {
  if (operation.lists !== undefined) return 'listing'
  return getShedClass(operation) === 'bulk' ? 'bulk' : 'small'
}
