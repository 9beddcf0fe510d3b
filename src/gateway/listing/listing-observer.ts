import type { CatalogError } from '../../catalog-api/catalog-error.ts'
import { createLogThrottle } from '../../observability/log/log-throttle.ts'
import { describeCause } from '../describe-cause.ts'
import type { OnNameLeftOut } from './listing-sources.ts'
import type { Logger } from '../../observability/log/gateway-log.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'

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
export function createListingObserver(metrics: Metrics, log: Logger): ListingObserver {
  const missingLines = createLogThrottle(maxLinesPerSecond)
  const nameLines = createLogThrottle(maxLinesPerSecond)
  return {
    upstreamMissing(upstream, error, requestId) {
      metrics.incomplete_listings_total.inc({ upstream })
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
      metrics.listed_names_left_out_total.inc({ upstream })
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
