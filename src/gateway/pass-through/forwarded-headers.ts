import { requestIdHeader } from '../../catalog-api/headers.ts'
import {
  passThroughRequestHeaders,
  passThroughResponseHeaders,
} from '../../config/upstream/allowed-headers-settings.ts'
import type { PassThroughSettings } from '../../config/pass-through-settings.ts'
import { parseConnectionTokens } from '../../lib/http/connection-tokens.ts'
import type { ReceivedHead } from '../received-head.ts'
import type { PassThroughRoute } from './pass-through-route.ts'
import type { PassThroughPaths } from './pass-through-target.ts'

export type HeadersByName = Readonly<Record<string, string | string[] | undefined>>

/** Creates the headers of a request that goes upstream: never a credential of the gateway, nor headers of proxies. */
export function createForwardedHeaders(
  head: ReceivedHead,
  { upstream, allowedRequestHeaders }: Pick<PassThroughSettings, 'upstream' | 'allowedRequestHeaders'>,
): Record<string, string> {
  const headers = new Map([
    ['host', new URL(upstream).host],
    [requestIdHeader, head.requestId],
  ])
  for (let index = 0; index < head.headers.length; index += 2) {
    const name = head.headers[index] ?? ''
    if (!passThroughRequestHeaders.has(name) && !allowedRequestHeaders.includes(name)) continue
    const before = headers.get(name)
    const value = head.headers[index + 1] ?? ''
    // HTTP/2 splits the field (RFC 9113, 8.2.3).
    const separator = name === 'cookie' ? '; ' : ', '
    headers.set(name, before === undefined ? value : before + separator + value)
  }
  if (head.contentType !== undefined) headers.set('content-type', head.contentType)
  if (head.contentEncoding !== undefined) headers.set('content-encoding', head.contentEncoding)
  if (head.contentLength !== undefined) headers.set('content-length', String(head.contentLength))
  return Object.fromEntries(headers)
}

/** Of a response that accepts a WebSocket connection (RFC 6455, section 4.2.2). */
const webSocketResponseHeaders: ReadonlySet<string> = new Set([
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
])

/**
 * Creates the headers of a response from those of the upstream: names and values in turn. A `location` within the upstream
 * of the route becomes one below the prefix.
 */
export function createResponseHeaders(
  received: HeadersByName,
  { paths, settings: { allowedResponseHeaders } }: Pick<PassThroughRoute, 'paths' | 'settings'>,
  target: URL,
): string[] {
  const listed = new Set([received['connection'] ?? []].flat().flatMap(parseConnectionTokens))
  const headers: string[] = []
  for (const [name, value] of Object.entries(received)) {
    const isAllowed =
      passThroughResponseHeaders.has(name) ||
      webSocketResponseHeaders.has(name) ||
      allowedResponseHeaders.includes(name)
    if (!isAllowed || listed.has(name)) continue
    for (const one of [value ?? []].flat()) {
      headers.push(name, name === 'location' ? relocate(one, paths, target) : one)
    }
  }
  return headers
}

function relocate(location: string, { prefix, upstreamPath }: PassThroughPaths, target: URL): string {
  if (!URL.canParse(location, target.href)) return location
  const { origin, pathname, search, hash } = new URL(location, target)
  const isWithin = pathname === upstreamPath || pathname.startsWith(`${upstreamPath}/`)
  if (origin !== target.origin || !isWithin) return location
  return prefix + pathname.slice(upstreamPath.length) + search + hash
}
