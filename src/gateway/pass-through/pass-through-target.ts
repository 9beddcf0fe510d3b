import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import { apiPaths } from '../../catalog-api/operations.ts'
import { decodeComponent } from '../../catalog-api/query-parameters.ts'
import { splitTarget } from '../../catalog-api/request-target.ts'
import { getBasePath } from '../../lib/http/base-path.ts'

/** The paths of a pass-through route, none with a slash at its end. */
export interface PassThroughPaths {
  readonly prefix: string
  /** Replaces the prefix; may be empty. */
  readonly upstreamPath: string
  /** Paths of catalogs, in lower case. Nothing at or below them is forwarded. */
  readonly catalogPaths: readonly string[]
}

/**
 * Finds the paths of catalogs at the host of the upstream, on any port: a proxy may serve both. Those of the catalog API
 * are at every host, because one host may have several names.
 */
export function createPassThroughPaths(
  prefix: string,
  upstream: URL,
  catalogs: readonly URL[],
): PassThroughPaths {
  const basePaths = catalogs.filter(({ hostname }) => hostname === upstream.hostname).map(getBasePath)
  const catalogPaths = [...apiPaths, ...basePaths.filter((path) => path !== '').map(fold)]
  return { prefix, upstreamPath: getBasePath(upstream), catalogPaths }
}

/** Whether a request target (origin form) is at or below the prefix. */
export function isBelowPrefix(target: string, prefix: string): boolean {
  return (
    target.startsWith(prefix) && (target.length === prefix.length || /[/?]/.test(target[prefix.length] ?? ''))
  )
}

/**
 * A decoded segment that every server reads alike: printable ASCII without separators, delimiters of path parameters and
 * the percent sign of a second encoding, no dot segment, and nothing at its ends that some servers cut.
 */
const plainSegment = /^(?!\.\.| )[^/\\;?#%\0-\x1f\x7f-\u{10ffff}]*(?<![. ])$/u

/**
 * Returns the path at the upstream of a request target (origin form). Throws InvalidInput (400) for a target that some
 * server could read as another path, and PermissionDenied (403) for one that belongs to a catalog.
 */
export function toUpstreamPath(
  target: string,
  { prefix, upstreamPath, catalogPaths }: PassThroughPaths,
): string {
  const { path } = splitTarget(target)
  const segments = path.slice(1).split('/')
  const isPlain = segments.every(
    (segment, index) =>
      plainSegment.test(decodeComponent(segment, 'the path')) &&
      (segment !== '' || index === segments.length - 1),
  )
  if (!isPlain) {
    const message = `the path ${quoteForMessage(path)} contains a segment that servers read differently`
    throw refusal('malformed_target', message)
  }
  const upstream = upstreamPath + path.slice(prefix.length) || '/'
  const folded = `${fold(upstream)}/`
  if (catalogPaths.some((catalog) => folded.startsWith(`${catalog}/`))) {
    throw refusal('denied', `the path ${quoteForMessage(path)} belongs to the catalog; use its own routes`)
  }
  return upstream
}

/** Some servers ignore the case of letters. */
function fold(path: string): string {
  return decodeURIComponent(path).toLowerCase()
}
