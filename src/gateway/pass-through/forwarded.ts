import { apiPaths, decodeComponent, quoteForMessage, refusal, splitTarget } from '../../catalog-api/index.ts'
import { getBasePath, parseConnectionTokens } from '../../lib/index.ts'
import type { IncomingHttpHeaders } from 'node:http'

type PassThroughPaths = ReturnType<typeof createPassThroughPaths>

/** Returns the paths of a pass-through route, none with a slash at its end. */
export function createPassThroughPaths(prefix: string, upstream: URL, catalogs: readonly URL[]) {
  const basePaths = catalogs.filter(({ hostname }) => hostname === upstream.hostname).map(getBasePath)
  return {
    prefix,
    /** Replaces the prefix; may be empty. */
    upstreamPath: getBasePath(upstream),
    /**
     * Paths of catalogs at the host of the upstream, in lower case, on any port: a proxy may serve both. Those of the catalog
     * API are at every host, because one host may have several names. Nothing at or below them is forwarded.
     */
    catalogPaths: [...apiPaths, ...basePaths.filter((path) => path !== '').map(fold)],
  }
}

/** Whether a request target (origin form) is at or below the prefix. */
export function isBelowPrefix(target: string, prefix: string): boolean {
  return target.startsWith(prefix) && /^(?:[/?]|$)/.test(target.slice(prefix.length))
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

/**
 * Content, content negotiation, conditional requests, and what browsers send to web applications. Credentials of the gateway
 * and headers of proxies are not among them; cookies belong to the application, because the gateway reads none.
 */
const requestHeaders = new Set(
  (
    'accept accept-encoding accept-language access-control-request-headers access-control-request-method cache-control ' +
    'content-encoding content-length content-type cookie if-match if-modified-since if-none-match if-range ' +
    'if-unmodified-since last-event-id origin pragma range referer sec-fetch-dest sec-fetch-mode sec-fetch-site ' +
    'sec-fetch-user traceparent tracestate user-agent x-csrf-token x-requested-with x-xsrf-token'
  ).split(' '),
)

/**
 * Headers about a response and its page. Those about a whole host are not among them: the catalog has the same one, at
 * another port.
 */
const responseHeaders = new Set(
  (
    'accept-patch accept-post accept-ranges access-control-allow-credentials access-control-allow-headers ' +
    'access-control-allow-methods access-control-allow-origin access-control-expose-headers access-control-max-age age ' +
    'allow cache-control content-disposition content-encoding content-language content-length content-location ' +
    'content-range content-security-policy content-security-policy-report-only content-type ' +
    'cross-origin-embedder-policy cross-origin-opener-policy cross-origin-resource-policy date etag expires ' +
    'last-modified link location permissions-policy pragma referrer-policy retry-after server-timing set-cookie ' +
    'sourcemap timing-allow-origin vary www-authenticate x-content-type-options x-frame-options x-robots-tag ' +
    'x-xss-protection'
  ).split(' '),
)

/** Returns the headers that an application may get. */
export function filterRequestHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return filterHeaders(headers, requestHeaders)
}

/**
 * Returns the headers that a client may get. A `location` within the upstream of the route becomes one below the prefix;
 * `target` is the URL that was requested of the upstream.
 */
export function filterResponseHeaders(
  headers: IncomingHttpHeaders,
  { prefix, upstreamPath }: PassThroughPaths,
  target: string,
): IncomingHttpHeaders {
  const filtered = filterHeaders(headers, responseHeaders)
  if (filtered.location === undefined || !URL.canParse(filtered.location, target)) return filtered
  const { origin, pathname, search, hash } = new URL(filtered.location, target)
  if (origin !== new URL(target).origin || !`${pathname}/`.startsWith(`${upstreamPath}/`)) return filtered
  return { ...filtered, location: prefix + pathname.slice(upstreamPath.length) + search + hash }
}

function filterHeaders(headers: IncomingHttpHeaders, names: ReadonlySet<string>): IncomingHttpHeaders {
  const listed = new Set([headers.connection ?? []].flat().flatMap(parseConnectionTokens))
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.has(name) && !listed.has(name)))
}
