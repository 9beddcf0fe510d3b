import type { Counter } from 'prom-client'
import type { CatalogError } from '../../catalog-api/index.ts'
import { createThrottledLog, type Logger, type Metrics } from '../../observability/index.ts'
import { describeCause } from '../error-response.ts'

export type ListingObserver = ReturnType<typeof createListingObserver>

/** Counts and logs what listings leave out. */
export function createListingObserver(metrics: Metrics, log: Logger) {
  const createReport = (counter: Counter<'upstream'>, message: string) => {
    // By upstream: every listing may report the same.
    const logThrottled = createThrottledLog(log, 1)
    return (upstream: string, fields: object): void => {
      counter.inc({ upstream })
      logThrottled('warn', upstream, { upstream, ...fields }, message)
    }
  }
  const reportMissing = createReport(metrics.incomplete_listings_total, 'incomplete listing')
  const reportName = createReport(metrics.listed_names_left_out_total, 'name left out of a listing')
  return {
    /** A listing lacks the names of an upstream. */
    upstreamMissing(upstream: string, error: CatalogError, requestId: string): void {
      const { reason, message } = error
      reportMissing(upstream, { reason, error: message, cause: describeCause(error), requestId })
    },
    /** A listing of the upstream contains a name that no request could contain. */
    nameLeftOut: (upstream: string, { message }: CatalogError): void =>
      // The message quotes, escapes and truncates the name.
      reportName(upstream, { reason: message }),
  }
}
