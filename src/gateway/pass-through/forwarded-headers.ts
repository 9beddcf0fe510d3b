import { requestIdHeader } from '../../catalog-api/headers.ts'
import { parseConnectionTokens } from '../../lib/http/connection-tokens.ts'
import type { ReceivedHead } from '../received-head.ts'
import type { PassThroughPaths } from './pass-through-target.ts'

/**
 * Content negotiation, conditional requests, and what browsers send to web applications. Credentials of the gateway are
 * not among them; cookies belong to the application, because the gateway reads none.
 */
const requestHeaders = new Set(
  (
    'accept accept-encoding accept-language access-control-request-headers access-control-request-method cache-control ' +
    'cookie if-match if-modified-since if-none-match if-range if-unmodified-since last-event-id origin pragma range ' +
    'referer sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user traceparent tracestate user-agent ' +
    'x-csrf-token x-requested-with x-xsrf-token'
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

type HeadersByName = Readonly<Record<string, string | string[] | undefined>>

/** Creates the headers of a request that goes upstream: never a credential of the gateway, nor headers of proxies. */
export function createForwardedHeaders(head: ReceivedHead): Record<string, string> {
  const headers = new Map([[requestIdHeader, head.requestId]])
  for (let index = 0; index < head.headers.length; index += 2) {
    const name = head.headers[index] ?? ''
    if (!requestHeaders.has(name)) continue
    const before = headers.get(name)
    const value = head.headers[index + 1] ?? ''
    headers.set(name, before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`)
  }
  if (head.contentType !== undefined) headers.set('content-type', head.contentType)
  if (head.contentEncoding !== undefined) headers.set('content-encoding', head.contentEncoding)
  if (head.contentLength !== undefined) headers.set('content-length', String(head.contentLength))
  return Object.fromEntries(headers)
}

/**
 * Creates the headers of a response from those of the upstream. A `location` within the upstream of the route becomes one
 * below the prefix; `target` is the URL that was requested of the upstream.
 */
export function createResponseHeaders(
  received: HeadersByName,
  paths: PassThroughPaths,
  target: URL,
): Record<string, string | string[]> {
  const listed = new Set([received['connection'] ?? []].flat().flatMap(parseConnectionTokens))
  const headers = new Map<string, string | string[]>()
  for (const [name, value] of Object.entries(received)) {
    if (value === undefined || !responseHeaders.has(name) || listed.has(name)) continue
    headers.set(name, name === 'location' ? relocate(String(value), paths, target) : value)
  }
  return Object.fromEntries(headers)
}

function relocate(location: string, { prefix, upstreamPath }: PassThroughPaths, target: URL): string {
  if (!URL.canParse(location, target.href)) return location
  const { origin, pathname, search, hash } = new URL(location, target)
  const isWithin = pathname === upstreamPath || pathname.startsWith(`${upstreamPath}/`)
  if (origin !== target.origin || !isWithin) return location
  return prefix + pathname.slice(upstreamPath.length) + search + hash
}
