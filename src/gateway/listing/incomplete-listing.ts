import type { Counter } from 'prom-client'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { incompleteHeader } from '../../catalog-api/headers.ts'
import { formatIdentifierForMessage } from '../../catalog-api/identifier-text.ts'
import { formatIdentifier, type Identifier } from '../../catalog-api/identifiers.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { SourceFailures } from './listing-page.ts'
import { createLogThrottle } from '../../observability/log/log-throttle.ts'
import { describeCause } from '../error-response.ts'
import type { OnNameLeftOut } from './listing-sources.ts'
import type { Logger } from '../../observability/log/gateway-log.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'

/*
 * Callers learn which namespaces of a listing are missing, and only of those that they may see. Names of upstreams are
 * settings, for the log alone.
 */

export interface IncompleteListing {
  readonly failures: SourceFailures
  readonly upstreams: readonly Pick<Upstream, 'name' | 'namespaces'>[]
  /** Delimiter of the request. */
  readonly delimiter: string
  readonly isNamespaceVisible: (namespace: Identifier) => boolean
}

const maxHeaderLength = 2_000

/** The header that lists missing namespaces: name and value, or nothing if the caller may see none of them. */
export function createIncompleteHeader(listing: IncompleteListing): readonly string[] {
  const missing = [...listing.failures.keys()]
    .flatMap((name) => listVisibleNamespaces(name, listing))
    .map((namespace) => encodeURIComponent(formatIdentifier(namespace, listing.delimiter)))
    .join(', ')
  if (missing === '') return []
  return [incompleteHeader, missing.length > maxHeaderLength ? '*' : missing]
}

/** The error of a listing without any names: that of the first catalog that is down, with the reason of each. */
export function createUnavailableError(listing: IncompleteListing): CatalogError {
  const failures = [...listing.failures]
  const decisive = failures.find(([, { status }]) => status >= 500) ?? failures[0]
  if (decisive === undefined) throw new Error('a listing without sources cannot fail')
  const [, { kind, reason, status, headers, cause }] = decisive
  const reasons = failures.flatMap(([name, { message }]) => {
    const [namespace] = listVisibleNamespaces(name, listing)
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

/** That the root exists is no secret. */
function listVisibleNamespaces(
  name: string,
  { upstreams, isNamespaceVisible }: IncompleteListing,
): readonly Identifier[] {
  const { namespaces = [[]] } = upstreams.find((upstream) => upstream.name === name) ?? {}
  return namespaces.filter((namespace) => namespace.length === 0 || isNamespaceVisible(namespace))
}

/** Receives what listings leave out. */
export interface ListingObserver {
  /** A listing lacks the names of an upstream. */
  readonly upstreamMissing: (upstream: string, error: CatalogError, requestId: string) => void
  /** A listing of the upstream contains a name that no request could contain. */
  readonly nameLeftOut: OnNameLeftOut
}

/** Counts and logs what listings leave out. */
export function createListingObserver(metrics: Metrics, log: Logger): ListingObserver {
  const createReport = (counter: Counter<'upstream'>, message: string) => {
    // By upstream: every listing may report the same.
    const lines = createLogThrottle(1)
    return (upstream: string, fields: object): void => {
      counter.inc({ upstream })
      const suppressed = lines.take(upstream)
      if (suppressed === undefined) return
      log.warn({ upstream, ...fields, ...(suppressed > 0 && { suppressed }) }, message)
    }
  }
  const reportMissing = createReport(metrics.incomplete_listings_total, 'incomplete listing')
  const reportName = createReport(metrics.listed_names_left_out_total, 'name left out of a listing')
  return {
    upstreamMissing(upstream, error, requestId) {
      const { reason, message } = error
      reportMissing(upstream, { reason, error: message, cause: describeCause(error), requestId })
    },
    // The message quotes, escapes and truncates the name.
    nameLeftOut: (upstream, { message }) => reportName(upstream, { reason: message }),
  }
}
