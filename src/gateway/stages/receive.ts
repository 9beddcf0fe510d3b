import type { IncomingRequest } from '../../http1/server/incoming-request.ts'
import {
  apiKeyHeader,
  dialectOf,
  dialects,
  inCatalogDialect,
  lancedbDatabaseHeader,
  lancedbPrefixHeader,
  requestIdHeader,
} from '../../interface/headers.ts'
import type { Dialect } from '../../interface/headers.ts'
import { InterfaceError, refusal } from '../../interface/errors.ts'
import { show } from '../../interface/identifiers.ts'
import { headerOfContextKey } from '../context-keys.ts'
import type { Received, ReceivedHead } from '../context.ts'

/** Headers that say what a request is or who sends it: never twice, never listed in `Connection`. */
const guarded: ReadonlySet<string> = new Set([
  apiKeyHeader,
  requestIdHeader,
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

/** What `receive` accepts. */
export interface ReceiveOptions {
  readonly dialects: ReadonlySet<Dialect>
  readonly maximumHeaders: number
}

/**
 * Stage 1: reads the head of a request from its raw header list, in one pass. Throws InvalidInput (400, 417, 431, 505)
 * for a head that two readers could understand differently: a repeated or connection-listed header that matters, an
 * underscore spelling of one, a reserved context key, a dialect that is not accepted.
 */
export function receive(
  request: IncomingRequest,
  { dialects: accepted, maximumHeaders }: ReceiveOptions,
  requestId: string,
): Received {
  const single = new Map<string, string>()
  const headers: string[] = []
  const connectionTokens: string[] = []
  const { method, target, version, headers: raw } = request.head
  if (raw.length / 2 > maximumHeaders) {
    throw refusal('too_many_headers', `the request has more than ${maximumHeaders} headers`)
  }
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const value = raw[index + 1] ?? ''
    if (name === 'connection') connectionTokens.push(...value.toLowerCase().split(','))
    const dialect = dialectOf(name)
    if (dialect !== undefined) {
      const canonical = canonicalName(name, dialect, accepted)
      addOnce(single, canonical, value)
      headers.push(canonical, value)
    } else if (guarded.has(name)) {
      addOnce(single, name, value)
    } else {
      refuseLookalike(name)
      headers.push(name, value)
    }
  }
  if (version !== '1.1' && version !== '1.0') {
    throw refusal('unsupported_http_version', `unsupported HTTP version ${version}; expected HTTP/1.1`)
  }
  const transferEncoding = single.get('transfer-encoding')
  // Whatever speaks HTTP/1.0 before us knows no chunks, and may have seen another end of the body (RFC 9112, 6.1).
  if (transferEncoding !== undefined && version === '1.0') {
    throw refusal('unsupported_transfer_encoding', 'unexpected transfer-encoding in an HTTP/1.0 request')
  }
  if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked') {
    throw refusal(
      'unsupported_transfer_encoding',
      `unsupported transfer-encoding ${show(transferEncoding)}; expected chunked`,
    )
  }
  if (!single.has('host') && version === '1.1') {
    throw refusal('missing_host', 'missing host header')
  }
  const expectation = single.get('expect')
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') {
    throw refusal(
      'unsupported_expectation',
      `unsupported expectation ${show(expectation)}; expected 100-continue`,
    )
  }
  const contentLength = single.has('content-length') ? Number(single.get('content-length')) : undefined
  const head: ReceivedHead = {
    requestId,
    client: request.remoteAddress,
    method,
    target,
    credentials: {
      apiKey: single.get(apiKeyHeader),
      authorization: single.get('authorization'),
      connection: request.socket,
    },
    headers: connectionTokens.length === 0 ? headers : withoutConnectionListed(headers, connectionTokens),
    database: databaseIn(single),
    contentType: single.get('content-type'),
    contentEncoding: single.get('content-encoding'),
    contentLength,
    hasBody: transferEncoding !== undefined || (contentLength ?? 0) > 0,
    tableHeaders: tableHeadersIn(single),
  }
  return { head }
}

/** A remote client of LanceDB names a database with every request: that tells its dialect. */
function databaseIn(single: ReadonlyMap<string, string>): string | undefined {
  const database = single.get(lancedbDatabaseHeader)
  const prefix = single.get(lancedbPrefixHeader)
  return database === undefined || prefix === undefined ? database : `${database}/${prefix}`
}

const noHeaders: readonly ('location' | 'properties')[] = []

function tableHeadersIn(single: ReadonlyMap<string, string>): ReceivedHead['tableHeaders'] {
  const { location, properties } = dialects.catalog
  if (!single.has(location) && !single.has(properties)) return noHeaders
  return (['location', 'properties'] as const).filter((name) => single.has(dialects.catalog[name]))
}

function canonicalName(name: string, dialect: Dialect, accepted: ReadonlySet<Dialect>): string {
  if (!accepted.has(dialect)) {
    throw refusal(
      'unknown_dialect',
      `the header ${show(name)} belongs to the dialect ${show(dialect)}, which is not enabled; ` +
        `use ${show(inCatalogDialect(name, dialect))}`,
    )
  }
  const canonical = inCatalogDialect(name, dialect)
  const key = canonical.startsWith(dialects.catalog.context)
    ? canonical.slice(dialects.catalog.context.length)
    : undefined
  if (key === '') throw refusal('invalid_context_key', `the header ${show(name)} has no context key`)
  const meant = key === undefined ? canonical : headerOfContextKey(key)
  if (meant instanceof InterfaceError) throw meant
  if (meant !== canonical) {
    throw refusal(
      'invalid_context_key',
      `the header ${show(name)} contains the name of another header, which some catalogs read as that header`,
    )
  }
  return canonical
}

function addOnce(single: Map<string, string>, name: string, value: string): void {
  if (single.has(name)) throw refusal('repeated_header', `the header ${show(name)} is repeated`)
  single.set(name, value)
}

/** Some servers read `x_api_key` as `x-api-key`; a proxy in front may be one of them. */
function refuseLookalike(name: string): void {
  if (!name.includes('_')) return
  const dashed = name.replaceAll('_', '-')
  if (guarded.has(dashed) || dialectOf(dashed) !== undefined) {
    throw refusal('ambiguous_header', `the header ${show(name)} is ambiguous with ${show(dashed)}`)
  }
}

function withoutConnectionListed(headers: readonly string[], tokens: readonly string[]): readonly string[] {
  const listed = new Set(tokens.map((token) => token.trim()))
  for (const name of listed) {
    if (guarded.has(name) || dialectOf(name) !== undefined) {
      throw refusal(
        'ambiguous_header',
        `the connection header lists ${show(name)}, which the gateway must check`,
      )
    }
  }
  return headers.filter((_, index) => !listed.has(headers[index - (index % 2)] ?? ''))
}
