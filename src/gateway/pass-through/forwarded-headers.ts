import type { IncomingHttpHeaders } from 'node:http'
import { parseConnectionTokens } from '../../lib/http/header-list.ts'
import type { PassThroughPaths } from './pass-through-target.ts'

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

/** Keeps the headers that an application may get. */
export function keepRequestHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return keep(headers, requestHeaders)
}

/**
 * Keeps the headers that a client may get. A `location` within the upstream of the route becomes one below the prefix;
 * `target` is the URL that was requested of the upstream.
 */
export function keepResponseHeaders(
  headers: IncomingHttpHeaders,
  { prefix, upstreamPath }: PassThroughPaths,
  target: string,
): IncomingHttpHeaders {
  const kept = keep(headers, responseHeaders)
  if (kept.location === undefined || !URL.canParse(kept.location, target)) return kept
  const { origin, pathname, search, hash } = new URL(kept.location, target)
  if (origin !== new URL(target).origin || !`${pathname}/`.startsWith(`${upstreamPath}/`)) return kept
  return { ...kept, location: prefix + pathname.slice(upstreamPath.length) + search + hash }
}

function keep(headers: IncomingHttpHeaders, names: ReadonlySet<string>): IncomingHttpHeaders {
  const listed = new Set([headers.connection ?? []].flat().flatMap(parseConnectionTokens))
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.has(name) && !listed.has(name)))
}
