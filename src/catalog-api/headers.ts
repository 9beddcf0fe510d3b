import { randomUUID } from 'node:crypto'
import { refusal } from './catalog-error.ts'
import { quoteForMessage } from './identifiers.ts'

export const headerDialectNames = ['catalog', 'lance'] as const

export type HeaderDialect = (typeof headerDialectNames)[number]

/** Catalog headers by dialect. Inside the gateway they have the names of `catalog`, with any client and upstream. */
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
} as const satisfies Record<HeaderDialect, object>

/** Headers that state a fact, by the source name in the operations table. */
export const factHeaders: Readonly<Record<string, string>> = {
  location: headerDialects.catalog.location,
  properties: headerDialects.catalog.properties,
}

/** Prefix of context keys that only the gateway may set, in headers and in bodies. */
export const reservedContextPrefix = 'gateway'

export const apiKeyHeader = 'x-api-key'
export const requestIdHeader = 'x-request-id'
/** Sent with every response that passed authorization: the revision of the policies that decided. */
export const policyRevisionHeader = 'x-catalog-policy-revision'
/** Sent with a listing that lacks names: the namespaces whose catalogs failed, percent-encoded; `*` if there are many. */
export const incompleteHeader = 'x-catalog-gateway-incomplete'
/** Asserts the caller to the upstream. Only the gateway may send it. */
export const assertionHeader = 'x-catalog-assertion'
/** The headers by which a remote client of LanceDB names `db://DATABASE/PREFIX`. Each of its requests has the first. */
export const lancedbDatabaseHeader = 'x-lancedb-database'
export const lancedbPrefixHeader = 'x-lancedb-database-prefix'
/** Dialect of the client (`lancedb` or `catalog`), as a gateway reports it to its upstream, which may be another gateway. */
export const clientDialectHeader = 'x-catalog-client-dialect'

/**
 * Whether the responses to a request have the form of a LanceDB server: `reportedDialect` decides, or else whether the
 * client names a database. Any client may choose either form, so nothing else may depend on it.
 */
export function isLancedbClient(reportedDialect: unknown, namesDatabase: boolean): boolean {
  return reportedDialect === undefined ? namesDatabase : reportedDialect === 'lancedb'
}

/** States the kind of token that a remote client of LanceDB sends as `Authorization`, after a login at an OAuth issuer. */
export const lancedbCredentialTypeHeader = 'x-lancedb-credential-type'
/** The only kind that clients name. */
export const lancedbCredentialType = 'oidc'

/** Sent to remote clients of LanceDB: the server version, which selects the requests of the client. */
export const lancedbServerHeader = 'phalanx-version'
/**
 * The server version of the bundled catalog, and the one to announce if an upstream states none: from 0.2 on, clients send
 * several vectors, from 0.3 on structured text queries.
 */
export const lancedbServerVersion = '0.3.0'
/**
 * The newest server version that clients know, all of whose requests the operations table covers: from 0.4 on, they write in
 * parts (`multipart_write`), from 0.5 on they read blobs, and from 0.6 on they search lists of texts by element
 * (`document_granularity`). Requests to newer ones are unknown.
 */
const newestLancedbServerVersion = '0.6.0'

const serverVersionGrammar = /^\d+\.\d+\.\d+(?:$|[-+])/
const { compare: compareVersions } = new Intl.Collator('en', { numeric: true })

/** The server version to announce if the upstream states this one: no newer one than the operations table covers. */
export function limitLancedbServerVersion(stated: string): string {
  if (!serverVersionGrammar.test(stated)) return lancedbServerVersion
  return compareVersions(stated, newestLancedbServerVersion) <= 0 ? stated : newestLancedbServerVersion
}

export const arrowStreamType = 'application/vnd.apache.arrow.stream'
const arrowStreamTypeGrammar = /^application\/vnd\.apache\.arrow\.stream\s*(?:;|$)/i
/** Whether a content-type is that of an Arrow stream, with any parameters. */
export function isArrowStreamType(contentType: string): boolean {
  return arrowStreamTypeGrammar.test(contentType)
}
export const arrowFileType = 'application/vnd.apache.arrow.file'

const requestIdGrammar = /^[A-Za-z0-9._-]{1,128}$/

/** Returns the request id that the client sent if it is valid, so that both logs can be correlated, else a new one. */
export function acceptRequestId(sent: string | readonly string[] | undefined): string {
  return typeof sent === 'string' && requestIdGrammar.test(sent) ? sent : randomUUID()
}

export function getHeaderDialect(header: string): HeaderDialect | undefined {
  if (!header.startsWith('x-')) return undefined
  for (const dialect of headerDialectNames) {
    const names = headerDialects[dialect]
    if (header.startsWith(names.context) || header === names.location || header === names.properties)
      return dialect
  }
  return undefined
}

/** Translates a header name: `x-lance-ctx-a` becomes `x-catalog-ctx-a`. */
export function translateHeader(header: string, from: HeaderDialect, to: HeaderDialect): string {
  const [source, target] = [headerDialects[from], headerDialects[to]]
  if (header === source.location) return target.location
  if (header === source.properties) return target.properties
  return target.context + header.slice(source.context.length)
}

/** Clients also send an Arrow stream as bytes of no particular type. */
const grammar = /^(?:application\/vnd\.apache\.arrow\.stream|application\/octet-stream)\s*(?:;|$)/i

/** Throws InvalidInput (400) for the content-type of anything but an Arrow stream; none at all is accepted. */
export function assertArrowContentType(contentType: string | undefined): void {
  if (contentType === undefined || grammar.test(contentType)) return
  throw refusal(
    'unsupported_content_type',
    `the content-type is ${quoteForMessage(contentType)}; expected ${arrowStreamType}`,
  )
}
