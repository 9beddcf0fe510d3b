import { Counter, type Registry } from 'prom-client'
import type { CatalogError } from '../../catalog-api/catalog-error.ts'
import { createLogThrottle } from '../../observability/log/log-throttle.ts'
import { describeCause } from '../describe-cause.ts'
import type { Logger } from '../../observability/log/gateway-log.ts'

/** Receives what listings leave out. */
export interface ListingObserver {
  /** A listing lacks the names of an upstream. */
  upstreamMissing(upstream: string, error: CatalogError, requestId: string): void
}

/** By upstream: every listing may report the same. */
const maxLinesPerSecond = 1

/** Counts and logs what listings leave out. */
export function createListingObserver(registry: Registry, log: Logger): ListingObserver {
  const incomplete = new Counter({
    name: 'catalog_gateway_incomplete_listings_total',
    help: 'Listings of all tables that lack those of the upstream, because it failed.',
    labelNames: ['upstream'],
    registers: [registry],
  })
  const lines = createLogThrottle(maxLinesPerSecond)
  return {
    upstreamMissing(upstream, error, requestId) {
      incomplete.inc({ upstream })
      const suppressed = lines.take(upstream)
      if (suppressed === undefined) return
      log.warn(
        {
          upstream,
          reason: error.reason,
          error: error.message,
          cause: describeCause(error),
          requestId,
          ...(suppressed > 0 && { suppressed }),
        },
        'incomplete listing',
      )
    },
  }
}
