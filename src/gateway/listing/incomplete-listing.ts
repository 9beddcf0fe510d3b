import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { incompleteHeader } from '../../catalog-api/headers.ts'
import { formatIdentifierForMessage } from '../../catalog-api/not-found.ts'
import { formatIdentifier, type Identifier } from '../../catalog-api/identifiers.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { SourceFailures } from './listing-page.ts'

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
