import { Counter, type Registry } from 'prom-client'
import type { CatalogError } from '../../catalog-api/catalog-error.ts'
import { createLogThrottle } from '../../observability/log/log-throttle.ts'
import { describeCause } from '../describe-cause.ts'
import type { OnNameLeftOut } from './listing-sources.ts'
import type { Logger } from '../../observability/log/gateway-log.ts'

/** Receives what listings leave out. */
export interface ListingObserver {
  /** A listing lacks the names of an upstream. */
  readonly upstreamMissing: (upstream: string, error: CatalogError, requestId: string) => void
  /** A listing of the upstream contains a name that no request could contain. */
  readonly nameLeftOut: OnNameLeftOut
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
  const leftOut = new Counter({
    name: 'catalog_gateway_listed_names_left_out_total',
    help: 'Names in listings of the upstream that are not valid in ids and were left out, each time they were listed.',
    labelNames: ['upstream'],
    registers: [registry],
  })
  const missingLines = createLogThrottle(maxLinesPerSecond)
  const nameLines = createLogThrottle(maxLinesPerSecond)
  return {
    upstreamMissing(upstream, error, requestId) {
      incomplete.inc({ upstream })
      const suppressed = missingLines.take(upstream)
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
    nameLeftOut(upstream, { message }) {
      leftOut.inc({ upstream })
      const suppressed = nameLines.take(upstream)
      if (suppressed === undefined) return
      // The message quotes, escapes and truncates the name.
      log.warn(
        { upstream, reason: message, ...(suppressed > 0 && { suppressed }) },
        'name left out of a listing',
      )
    },
  }
}
