import type { Operation } from '../../catalog-api/index.ts'

/** In the order of shedding. */
export const shedClasses = ['bulk', 'data', 'listing'] as const

export type ShedClass = (typeof shedClasses)[number]

/**
 * `bulk` transfers rows as Arrow and blobs, `data` processes rows, `listing` returns pages. Others are never shed:
 * descriptions are small, and other requests wait for changes such as commits.
 */
export function getShedClass({ body, response, group, query }: Operation): ShedClass | undefined {
  if (body === 'arrow' || (response !== 'json' && response !== 'empty')) return 'bulk'
  if (group === 'query' || group === 'write') return 'data'
  return query.has('page_token') ? 'listing' : undefined
}

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
