import { randomUUID } from 'node:crypto'

/**
 * The names by which a header says something to the catalog. `catalog` is the dialect of the interface,
 * `lance` the one of its public relatives, accepted as aliases where configured (interface section 6).
 */
export const headerDialects = {
  catalog: {
    context: 'x-catalog-ctx-',
    location: 'x-catalog-table-location',
    properties: 'x-catalog-table-properties',
  },
  lance: {
    context: 'x-lance-ctx-',
    location: 'x-lance-table-location',
    properties: 'x-lance-table-properties',
  },
} as const

/** The headers that state a fact, by the name of their place in the table of operations. */
export const factHeaders: Readonly<Record<string, string>> = {
  location: headerDialects.catalog.location,
  properties: headerDialects.catalog.properties,
}

/** The name of a dialect of header names. */
export type HeaderDialect = keyof typeof headerDialects

/** What begins the keys of context entries that only the gateway may set, in a header as in a body. */
export const reservedContextPrefix = 'gateway'

/** Header names of the interface that are the same in every dialect. */
export const apiKeyHeader = 'x-api-key'
export const requestIdHeader = 'x-request-id'
/** In every answer that came by the policies: the revision of those that decided. */
export const policyRevisionHeader = 'x-catalog-policy-revision'
/** What an upstream gets that is told about the caller; nobody else may send it. */
export const assertionHeader = 'x-catalog-assertion'
/** The headers by which a remote client of LanceDB names `db://DATABASE/PREFIX`; every request of it has the first. */
export const lancedbDatabaseHeader = 'x-lancedb-database'
export const lancedbPrefixHeader = 'x-lancedb-database-prefix'
/** The dialect of the client, `lancedb` or `catalog`, as the gateway tells it to an upstream. */
export const clientDialectHeader = 'x-catalog-client-dialect'
/** In every response to a remote client of LanceDB: the version of its server, by which it chooses how to ask. */
export const lancedbServerHeader = 'phalanx-version'
/** From this version on, the client sends several vectors and structured text queries. */
export const lancedbServerVersion = '0.3.0'
export const arrowStreamType = 'application/vnd.apache.arrow.stream'
export const arrowFileType = 'application/vnd.apache.arrow.file'

const requestIdGrammar = /^[A-Za-z0-9._-]{1,128}$/

/** The id that a client gave its request, so that its log and ours can be read together; else a new one. */
export function acceptRequestId(sent: string | readonly string[] | undefined): string {
  return typeof sent === 'string' && requestIdGrammar.test(sent) ? sent : randomUUID()
}

/** Headers that belong to one connection and never pass a proxy (RFC 9110 section 7.6.1). */
export const hopByHopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The dialect in which a header (lower case) speaks to the catalog, or undefined for an ordinary header. */
export function headerDialectOf(header: string): HeaderDialect | undefined {
  if (!header.startsWith('x-')) return undefined
  for (const dialect of ['catalog', 'lance'] as const) {
    const names = headerDialects[dialect]
    if (header.startsWith(names.context) || header === names.location || header === names.properties)
      return dialect
  }
  return undefined
}

/** The name of that header in the dialect of the interface: `x-lance-ctx-a` is `x-catalog-ctx-a`. */
export function toCatalogHeader(header: string, dialect: HeaderDialect): string {
  const from = headerDialects[dialect]
  if (header === from.location) return headerDialects.catalog.location
  if (header === from.properties) return headerDialects.catalog.properties
  return headerDialects.catalog.context + header.slice(from.context.length)
}
