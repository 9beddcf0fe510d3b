import type { Counter } from 'prom-client'
import {
  CatalogError,
  formatIdentifier,
  formatIdentifierForMessage,
  type Identifier,
  incompleteHeader,
} from '../../catalog-api/index.ts'
import type { SourceFailures } from './listing-page.ts'
import { createThrottledLog, type Logger, type Metrics } from '../../observability/index.ts'
import { describeCause } from '../error-response.ts'

/*
 * Callers learn which namespaces of a listing are missing, and only of those that they may see. Names of upstreams are
 * settings, for the log alone.
 */

/** Lists the namespaces of an upstream that the caller may see. */
type ListVisibleNamespaces = (upstream: string) => readonly Identifier[]

const maxHeaderLength = 2_000

/** The header that lists missing namespaces: name and value, or nothing if the caller may see none of them. */
export function createIncompleteHeader(
  failures: SourceFailures,
  listNamespaces: ListVisibleNamespaces,
  delimiter: string,
): readonly string[] {
  const missing = [...failures.keys()]
    .flatMap(listNamespaces)
    .map((namespace) => encodeURIComponent(formatIdentifier(namespace, delimiter)))
    .join(', ')
  if (missing === '') return []
  return [incompleteHeader, missing.length > maxHeaderLength ? '*' : missing]
}

/** The error of a listing without any names: that of the first catalog that is down, with the reason of each. */
export function createUnavailableError(
  byUpstream: SourceFailures,
  listNamespaces: ListVisibleNamespaces,
): CatalogError {
  const failures = [...byUpstream]
  const decisive = failures.find(([, { status }]) => status >= 500) ?? failures[0]
  if (decisive === undefined) throw new Error('a listing without sources cannot fail')
  const [, { kind, reason, status, headers, cause }] = decisive
  const reasons = failures.flatMap(([name, { message }]) => {
    const [namespace] = listNamespaces(name)
    if (namespace === undefined) return []
    const catalog =
      namespace.length === 0
        ? 'the catalog of the root namespace'
        : `the catalog of ${formatIdentifierForMessage(namespace)}`
    return [`${catalog}: ${message}`]
  })
  const message = reasons.length === 0 ? 'no catalog is available' : reasons.join('; ')
  return new CatalogError(kind, message, { reason, status, headers, cause })
}

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
