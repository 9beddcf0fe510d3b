import { Readable } from 'node:stream'
import {
  apiKeyHeader,
  arrowStreamType,
  buildTarget,
  type BuiltInOperation,
  type HeaderDialect,
  headerDialects,
  invalidInput,
  type OperationName,
  quoteForMessage,
  requestIdHeader,
} from 'catalog-gateway/catalog-api'
import { fieldNameGrammar, type Followed } from 'catalog-gateway/lib'
import type { CatalogCall, CatalogCaller, RequestMembers, Upload } from '../contract/catalog.ts'
import { toInterfaceForm } from './interface-form.ts'

/** How to address a remote catalog. */
export interface RemoteEndpoint {
  /** The prefix of every route. */
  readonly basePath: string
  readonly delimiter: string
  /** Names of the headers for context, location and properties. */
  readonly headerDialect: HeaderDialect
  /** The header added to every request, in place of the caller's identity. */
  readonly credential: Followed<readonly [name: string, value: string] | undefined>
}

export interface RemoteRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | Readable | null
}

type HeaderNames = (typeof headerDialects)[HeaderDialect]

/** RFC 9110, section 5.5; bytes above ASCII stay as they were in the incoming header. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Encodes query parameters for members that the operation takes there, the body for all others; identity, context and
 * request id as headers. Throws InvalidInput (400) for an id or a context entry that cannot be encoded.
 */
export function buildRequest(
  operation: BuiltInOperation,
  call: CatalogCall<OperationName>,
  { basePath, delimiter, headerDialect, credential }: RemoteEndpoint,
): RemoteRequest {
  const { id, alias, indexName, upload, caller } = call
  const sent = operation.name === 'CreateTable' ? escapeProperties(call.sentMembers) : call.sentMembers
  const route = {
    operation,
    ...(alias !== undefined && { alias }),
    id,
    delimiter: call.delimiter,
    indexName: indexName === '' ? undefined : indexName,
    parameters: buildParameters(operation, sent),
  }
  const names = headerDialects[headerDialect]
  const headers = buildHeaders(caller, credential.current, names)
  if (operation.name === 'CreateTable') addCreateTableHeaders(headers, sent, names)
  const request = { method: operation.method, path: basePath + buildTarget(route, delimiter), headers }
  if (operation.body === 'none') return { ...request, body: null }
  headers['content-type'] = upload === undefined ? 'application/json' : arrowStreamType
  if (upload === undefined)
    return { ...request, body: JSON.stringify(buildBody(operation, sent), omitIdentity) }
  if (upload.length !== undefined) headers['content-length'] = String(upload.length)
  return { ...request, body: openUpload(upload, caller.signal) }
}

/** While the remote catalog applies backpressure nothing is read, so only the signal shows a disconnected client. */
function openUpload({ chunks }: Upload, signal: AbortSignal): Readable {
  const stream = Readable.from(chunks, { objectMode: false })
  const abortUpload = (): void => {
    if (!stream.readableEnded)
      stream.destroy(invalidInput('the client closed the connection during the upload'))
  }
  signal.addEventListener('abort', abortUpload, { once: true })
  return stream
}

/** The delimiter is excluded: a body member of that name must not change how the id is parsed. */
function buildParameters(
  operation: BuiltInOperation,
  sent: RequestMembers,
): Map<string, string | readonly string[]> {
  const parameters = new Map<string, string | readonly string[]>()
  for (const name of operation.query.keys()) {
    const value = name === 'delimiter' ? undefined : sent[name]
    if (value === undefined || value === null || value === '') continue
    parameters.set(name, Array.isArray(value) ? value.map(formatParameter) : formatParameter(value))
  }
  return parameters
}

function formatParameter(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function buildBody({ name, body, query }: BuiltInOperation, sent: RequestMembers): unknown {
  if (body === 'map') return sent['metadata']
  const members = Object.entries(toInterfaceForm(name, sent))
  return Object.fromEntries(members.filter(([member]) => !query.has(member)))
}

/** Nested identities are not forwarded. */
function omitIdentity(name: string, value: unknown): unknown {
  return name === 'identity' && typeof value === 'object' ? undefined : value
}

function buildHeaders(
  { requestId, identity, context }: CatalogCaller,
  credential: RemoteEndpoint['credential']['current'],
  names: HeaderNames,
): Record<string, string> {
  const headers: Record<string, string> = { 'accept-encoding': 'identity', [requestIdHeader]: requestId }
  if (credential !== undefined) {
    headers[credential[0]] = credential[1]
  } else {
    if (identity.apiKey !== undefined)
      headers[apiKeyHeader] = assertHeaderValue(identity.apiKey, 'the API key')
    if (identity.authToken !== undefined) {
      headers['authorization'] = assertHeaderValue(`Bearer ${identity.authToken}`, 'the bearer token')
    }
  }
  for (const [key, value] of context) {
    if (!fieldNameGrammar.test(key))
      throw invalidInput(`the context key ${quoteForMessage(key)} cannot be part of a header`)
    headers[names.context + key] = assertHeaderValue(value, `the context entry ${quoteForMessage(key)}`)
  }
  return headers
}

function assertHeaderValue(value: string, label: string): string {
  if (fieldValue.test(value)) return value
  throw invalidInput(`${label} contains a character that is not allowed in a header`)
}

/** The catalog API has the properties in a header, later catalogs in the query: both get the same text. */
function addCreateTableHeaders(
  headers: Record<string, string>,
  sent: RequestMembers,
  names: HeaderNames,
): void {
  for (const name of ['location', 'properties'] as const) {
    const text = sent[name]
    if (typeof text === 'string') headers[names[name]] = assertHeaderValue(text, `the ${name} of the table`)
  }
}

function escapeProperties(sent: RequestMembers): RequestMembers {
  const { properties } = sent
  return typeof properties === 'string' ? { ...sent, properties: escapeNonAscii(properties) } : sent
}

/** Escapes JSON for a header; control characters occur only between members. */
function escapeNonAscii(json: string): string {
  return json.replaceAll(/[^\x20-\x7e]/g, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x20 ? ' ' : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
