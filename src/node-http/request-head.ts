import type { IncomingMessage } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { malformed, RequestError } from '../http1/server/request-error.ts'
import { createParsedRequestHead, type RequestHead } from '../http1/server/request-head.ts'
import { hasHeader } from '../lib/http/header-list.ts'

/** Throws RequestError for a head that the parser of http1/ would refuse. */
export function readHttp1Head({
  method = '',
  url = '',
  httpVersion,
  rawHeaders,
}: IncomingMessage): RequestHead {
  // Node reads a request line without a version as HTTP/0.9.
  if (httpVersion === '0.9') throw malformed('the head does not start with a request line')
  return createParsedRequestHead(
    { method, target: url, version: httpVersion },
    withLowerCaseNames(rawHeaders),
  )
}

/** Describe a connection (RFC 9113, section 8.2.2), or the body of a request of HTTP/1.1. */
const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

/** Part of the value in HTTP/2, which has no lines; malformed (RFC 9113, section 8.2.1). */
const surroundedBySpace = /^[ \t]|[ \t]$/

/**
 * Converts the head of a request of HTTP/2: `:authority` becomes `host` (RFC 9113, section 8.3.1). Throws RequestError for
 * a request that could not be one of HTTP/1.1.
 */
export function readHttp2Head(
  { endAfterHeaders }: ServerHttp2Stream,
  rawHeaders: readonly string[],
  maxHeadBytes: number,
): RequestHead {
  // Node announces the limit, but does not enforce it.
  if (countBytes(rawHeaders) > maxHeadBytes)
    throw new RequestError('headers_too_large', `a head of more than ${maxHeadBytes} bytes`)
  const pseudo = new Map<string, string>()
  const headers: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    const value = rawHeaders[index + 1] ?? ''
    if (name.startsWith(':')) pseudo.set(name, value)
    else if (connectionHeaders.has(name)) throw malformed(`there is a ${name} header in HTTP/2`)
    else if (surroundedBySpace.test(value)) throw malformed('a header has a space or a tab around its value')
    else headers.push(name, value)
  }
  const method = pseudo.get(':method') ?? ''
  const authority = pseudo.get(':authority')
  assertScheme(pseudo.get(':scheme'))
  if (authority !== undefined) addHost(headers, authority)
  const target = pseudo.get(':path') ?? ''
  if (method !== 'CONNECT' && target !== '*' && !target.startsWith('/'))
    throw malformed('the :path is not a path')
  const head = createParsedRequestHead({ method, target, version: '1.1' }, headers)
  // Frames end the body of a request without a length.
  const hasLength = hasHeader(headers, 'content-length')
  const body = endAfterHeaders ? 0 : hasLength ? head.body : 'chunked'
  return { ...head, version: '2', body, keepAlive: true }
}

/** Not compared with that of the listener: behind a proxy that terminates TLS, it is that of the client. */
function assertScheme(scheme: string | undefined): void {
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https')
    throw malformed('the :scheme is neither http nor https')
}

function addHost(headers: string[], authority: string): void {
  const index = headers.findIndex((text, at) => at % 2 === 0 && text === 'host')
  if (index === -1) headers.push('host', authority)
  else if (headers[index + 1] !== authority) throw malformed('the host header contradicts the :authority')
}

function withLowerCaseNames(rawHeaders: readonly string[]): string[] {
  return rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text))
}

/** Size of a list of names and values, with the separators of HTTP/1.1. */
export function countBytes(headers: readonly string[]): number {
  return headers.reduce((sum, text) => sum + text.length + 2, 0)
}
