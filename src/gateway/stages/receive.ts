import type { IncomingRequest } from '../../http1/index.ts'
import {
  apiKeyHeader,
  clientDialectHeader,
  getHeaderDialect,
  type HeaderDialect,
  headerDialects,
  lancedbCredentialType,
  lancedbCredentialTypeHeader,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
  quoteForMessage,
  refusal,
  requestIdHeader,
  translateHeader,
} from '../../catalog-api/index.ts'
import {
  isHostAndPort,
  parseConnectionTokens,
  readSendingPage,
  removeHeaders,
  sendingPageHeaders,
} from '../../lib/index.ts'
import { contextKeyToHeader } from '../facts/stated-facts.ts'
import type { ReadClientAddress, ReadForwardedCertificate } from '../trusted-proxies.ts'
import { Received } from '../context.ts'
import type { ReceivedHead } from '../downstream.ts'

/** Headers that identify a request or its sender: rejected if repeated or listed in `Connection`. */
const guardedHeaders: ReadonlySet<string> = new Set([
  apiKeyHeader,
  requestIdHeader,
  clientDialectHeader,
  lancedbCredentialTypeHeader,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'transfer-encoding',
])

/** Decide whether a page of another site sent the request: rejected if repeated. */
const pageHeaders: ReadonlySet<string> = new Set(sendingPageHeaders)

/** Requests with more headers are refused. */
const maxRequestHeaders = 128

export interface ReceiveOptions {
  readonly dialects: ReadonlySet<HeaderDialect>
  /** Scheme of the listener. */
  readonly scheme: Scheme
  readonly readClientAddress: ReadClientAddress
  readonly readForwardedCertificate: ReadForwardedCertificate
}

/**
 * Stage 1: reads the head of a request from its raw header list, in one pass. Throws InvalidInput (400, 417, 431, 505)
 * for a head that two readers could interpret differently: a repeated or connection-listed header that matters, an
 * underscore spelling of one, an invalid host, a reserved context key, a dialect that is not accepted, an absolute target that contradicts
 * host or listener.
 */
export function receive(
  request: IncomingRequest,
  { dialects: accepted, scheme, readClientAddress, readForwardedCertificate }: ReceiveOptions,
  { requestId, isLancedb }: Pick<ReceivedHead, 'requestId' | 'isLancedb'>,
): Received {
  const single = new Map<string, string>()
  const headers: string[] = []
  const connectionTokens: string[] = []
  const { method, target, version, headers: raw } = request.head
  if (method === 'CONNECT') throw refusal('connect_not_supported', 'CONNECT is not supported')
  if (raw.length / 2 > maxRequestHeaders) {
    throw refusal(
      'too_many_headers',
      `the request has ${raw.length / 2} headers; the gateway accepts at most ${maxRequestHeaders}`,
    )
  }
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const value = raw[index + 1] ?? ''
    if (name === 'connection') connectionTokens.push(...parseConnectionTokens(value))
    const dialect = getHeaderDialect(name)
    if (dialect !== undefined) {
      const canonical = canonicalHeaderName(name, dialect, accepted)
      addOnce(single, canonical, value)
      headers.push(canonical, value)
    } else if (guardedHeaders.has(name)) {
      addOnce(single, name, value)
    } else {
      if (pageHeaders.has(name)) addOnce(single, name, value)
      assertNoLookalike(name)
      headers.push(name, value)
    }
  }
  if (version !== '1.1' && version !== '1.0') {
    throw refusal('unsupported_http_version', `unsupported HTTP version ${version}; expected HTTP/1.1`)
  }
  const transferEncoding = single.get('transfer-encoding')
  // An HTTP/1.0 proxy in front does not know chunks, and may have seen another end of the body (RFC 9112, 6.1).
  if (transferEncoding !== undefined && (version === '1.0' || transferEncoding.toLowerCase() !== 'chunked')) {
    const coding = quoteForMessage(transferEncoding)
    const message = `unsupported transfer-encoding ${coding} in HTTP/${version}; expected chunked in HTTP/1.1`
    throw refusal('unsupported_transfer_encoding', message)
  }
  const host = single.get('host')
  if (host === undefined && version !== '1.0') {
    throw refusal('missing_host', 'missing host header')
  }
  // Not quoted: it may contain a password.
  if (host !== undefined && !isHostAndPort(host)) {
    throw refusal(
      'invalid_host',
      'invalid host header; expected a host name or IP address, and optionally a port',
    )
  }
  const expectation = single.get('expect')
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') {
    throw refusal(
      'unsupported_expectation',
      `unsupported expectation ${quoteForMessage(expectation)}; expected 100-continue`,
    )
  }
  const dialect = single.get(clientDialectHeader)
  if (dialect !== undefined && dialect !== 'lancedb' && dialect !== 'catalog') {
    throw refusal(
      'unknown_dialect',
      `unknown ${clientDialectHeader} ${quoteForMessage(dialect)}; expected lancedb or catalog`,
    )
  }
  const contentLength = single.has('content-length') ? Number(single.get('content-length')) : undefined
  const client = readClientAddress(request, connectionTokens)
  const head: ReceivedHead = {
    requestId,
    client,
    peer: request.peer === client ? undefined : request.peer,
    method,
    target: toOriginForm(target, host, scheme),
    host,
    credentials: {
      apiKey: single.get(apiKeyHeader),
      authorization: single.get('authorization'),
      connection: request.socket,
      forwardedCertificate: readForwardedCertificate(request, connectionTokens),
    },
    isOidcToken: single.get(lancedbCredentialTypeHeader) === lancedbCredentialType,
    page: readSendingPage((name) => single.get(name)),
    headers: connectionTokens.length === 0 ? headers : removeConnectionListed(headers, connectionTokens),
    database: readDatabase(single),
    isLancedb,
    contentType: single.get('content-type'),
    contentEncoding: single.get('content-encoding'),
    contentLength,
    hasBody: request.head.body !== 0,
  }
  return new Received(head)
}

/** A remote client of LanceDB names a database with every request, which identifies its dialect. */
function readDatabase(single: ReadonlyMap<string, string>): string | undefined {
  const database = single.get(lancedbDatabaseHeader)
  const prefix = single.get(lancedbPrefixHeader)
  return prefix === undefined ? database : `${database ?? ''}/${prefix}`
}

function canonicalHeaderName(
  name: string,
  dialect: HeaderDialect,
  accepted: ReadonlySet<HeaderDialect>,
): string {
  if (!accepted.has(dialect)) {
    throw refusal(
      'unknown_dialect',
      `the header ${quoteForMessage(name)} belongs to the dialect ${quoteForMessage(dialect)}, which is not enabled; ` +
        `use ${quoteForMessage(translateHeader(name, dialect, 'catalog'))}`,
    )
  }
  const canonical = translateHeader(name, dialect, 'catalog')
  const key = canonical.startsWith(headerDialects.catalog.context)
    ? canonical.slice(headerDialects.catalog.context.length)
    : undefined
  if (key === '')
    throw refusal('invalid_context_key', `the header ${quoteForMessage(name)} has no context key`)
  const meant = key === undefined ? canonical : contextKeyToHeader(key)
  if (meant !== canonical) {
    throw refusal(
      'invalid_context_key',
      `the header ${quoteForMessage(name)} contains the name of another header, which some catalogs read as that header`,
    )
  }
  return canonical
}

function addOnce(single: Map<string, string>, name: string, value: string): void {
  if (single.has(name)) throw refusal('repeated_header', `the header ${quoteForMessage(name)} is repeated`)
  single.set(name, value)
}

/** Some servers read `x_api_key` as `x-api-key`; a proxy in front may be one of them. */
function assertNoLookalike(name: string): void {
  if (!name.includes('_')) return
  const dashed = name.replaceAll('_', '-')
  if (guardedHeaders.has(dashed) || getHeaderDialect(dashed) !== undefined) {
    throw refusal(
      'ambiguous_header',
      `the header ${quoteForMessage(name)} is ambiguous with ${quoteForMessage(dashed)}`,
    )
  }
}

function removeConnectionListed(headers: readonly string[], tokens: readonly string[]): readonly string[] {
  const listed = new Set(tokens)
  for (const name of listed) {
    if (guardedHeaders.has(name) || getHeaderDialect(name) !== undefined) {
      throw refusal(
        'ambiguous_header',
        `the connection header lists ${quoteForMessage(name)}, which the gateway must check`,
      )
    }
  }
  return removeHeaders(headers, listed)
}

export type Scheme = 'http' | 'https'

/**
 * Converts a request target in absolute form to origin form (RFC 9112, 3.2); others are returned as they are. Servers
 * differ on whether an absolute target overrides `host`, so both must be the same. Throws InvalidInput (400) unless the target
 * begins with the scheme of the listener and this host, and has a path.
 */
export function toOriginForm(target: string, host: string | undefined, scheme: Scheme): string {
  if (target.startsWith('/') || !target.includes('://')) return target
  const origin = `${scheme}://${host}`
  if (host !== undefined && target.startsWith(`${origin}/`)) return target.slice(origin.length)
  // Not quoted: it may contain a password.
  const expected =
    'expected a path, with no more before it than the scheme of this port and the host of the host header'
  throw refusal('malformed_target', `the request target is a URL; ${expected}`)
}
