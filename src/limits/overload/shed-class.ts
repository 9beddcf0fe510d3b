import type { Operation } from '../../catalog-api/operations.ts'

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
