import { assertFactSource } from './decisive-members.ts'
import { refusal, type CatalogError } from './catalog-error.ts'
import {
  assertDelimiter,
  assertName,
  defaultDelimiter,
  formatIdentifier,
  parseIdentifier,
  quoteForMessage,
  type Identifier,
  type QuotesInNames,
} from './identifiers.ts'
import { getOperation, operationNames, type Operation, type ParameterType } from './operations.ts'

/**
 * Query parameters besides `delimiter`, decoded once; booleans are `true` or `false`. Paging and timeout are absent if
 * empty.
 */
type QueryParameters = ReadonlyMap<string, string | readonly string[]>

/** The complete meaning of the method and target of a request. */
export interface RouteMatch {
  readonly operation: Operation
  /** Empty for the root, and for operations without an object in the route. */
  readonly id: Identifier
  /** Separates the parts of ids in this request and in the response to ListAllTables. */
  readonly delimiter: string
  readonly indexName: string | undefined
  readonly parameters: QueryParameters
  /** Query parameters outside the catalog API that were allowed by name, decoded once. */
  readonly extraParameters?: ReadonlyMap<string, string>
}

export interface TargetOptions {
  /** Precedes every path; empty or without a slash at its end. */
  readonly basePath?: string
  /** Names of query parameters that are accepted besides those of the catalog API. */
  readonly allowedParameters?: ReadonlySet<string>
  /** In the names of the id; refused by default. */
  readonly quotes?: QuotesInNames
}

const noParameters: ReadonlySet<string> = new Set()

interface Route {
  readonly operation: Operation
  readonly hasId: boolean
  readonly hasIndex: boolean
}

/** Index of `{id}` and `{index_name}` among the path segments; segment 0, before `/v1`, is empty. */
const idSegment = 3
const indexSegment = 5
/** Stands for them in the keys of `routes`. Braces are not valid in a path, so no request can contain it. */
const placeholder = '{}'

const maxTargetLength = 16_384
// RFC 3986, 3.3: a path of pchar segments; and 3.4 for the query.
const pathGrammar = /^(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)+$/
const queryGrammar = /^(?:[A-Za-z0-9\-._~!$'()*+,;:@/?&=]|%[0-9A-Fa-f]{2})*$/
const extraEncodedCharacters = /[!'()*]/g
const unreserved = /^[A-Za-z0-9\-._~]*$/

const routes = new Map<string, Route>()
for (const name of operationNames) {
  const operation = getOperation(name)
  for (const path of [operation.path, ...operation.aliases]) {
    routes.set(path.replaceAll(/\{\w+\}/g, placeholder), {
      operation,
      hasId: path.includes('{id}'),
      hasIndex: path.includes('{index_name}'),
    })
  }
}

/**
 * Parses a request target (origin form, RFC 3986); every part is decoded exactly once, nothing is normalised, so it has
 * exactly one meaning. One trailing slash is accepted. The path must start with the base path, as it is written there,
 * exactly once. `quotes` applies to the id. Throws CatalogError: 400 outside the grammar, 404 for an unknown route, 405
 * for another method.
 */
export function parseTarget(
  method: string,
  target: string,
  { basePath = '', allowedParameters = noParameters, quotes = 'refused' }: TargetOptions = {},
): RouteMatch {
  const { path: wholePath, query } = splitTarget(target)
  const isBelow = wholePath.startsWith(`${basePath}/`)
  const path = isBelow ? wholePath.slice(basePath.length) : wholePath
  const found = isBelow ? findRoute(path) : undefined
  if (found === undefined) {
    const expected = isBelow ? '' : `; expected a path below ${quoteForMessage(basePath)}`
    throw refusal('unknown_route', `unknown route ${quoteForMessage(wholePath)}${expected}`)
  }
  const { operation } = found
  if (method !== operation.method && !(operation.alsoGet && method === 'GET')) {
    const allow = operation.alsoGet ? 'GET, POST' : operation.method
    throw refusal(
      'method_not_allowed',
      `method ${quoteForMessage(method)} is not allowed for ${operation.name}; use ${allow}`,
      {
        headers: { allow },
      },
    )
  }
  const { delimiter, parameters, extraParameters } = readQuery(query, operation, allowedParameters)
  const id = found.hasId
    ? parseIdentifier(decode(segmentAt(path, idSegment), 'the id'), delimiter, quotes)
    : []
  if (id.length === 0 && found.hasId && operation.object !== 'namespace') {
    throw refusal(
      'invalid_id',
      `${operation.name} takes the id of a ${operation.object}; the root is a namespace`,
    )
  }
  const indexName = found.hasIndex ? decode(segmentAt(path, indexSegment), 'the index name') : undefined
  if (indexName !== undefined) assertName(indexName, 'the index name')
  const route = { operation, id, delimiter, indexName, parameters }
  return extraParameters.size === 0 ? route : { ...route, extraParameters }
}

/**
 * Formats the canonical target with the id joined by `idDelimiter`. Without an id in the route, the delimiter of the
 * request is retained, because it applies to the response. Throws InvalidInput (400) if the id cannot be joined by it.
 */
export function buildTarget(target: RouteMatch, idDelimiter: string = defaultDelimiter): string {
  const { operation, id, indexName, parameters, extraParameters = [] } = target
  const delimiter = operation.object === 'none' ? target.delimiter : idDelimiter
  let path = operation.path
  if (operation.object !== 'none') path = path.replace('{id}', () => encode(formatIdentifier(id, delimiter)))
  if (indexName !== undefined) path = path.replace('{index_name}', () => encode(indexName))
  let query = delimiter === defaultDelimiter ? '' : `&delimiter=${encode(delimiter)}`
  for (const [name, value] of parameters) {
    for (const one of typeof value === 'string' ? [value] : value) query += `&${name}=${encode(one)}`
  }
  for (const [name, value] of extraParameters) query += `&${encode(name)}=${encode(value)}`
  return query === '' ? path : `${path}?${query.slice(1)}`
}

function splitTarget(target: string): { path: string; query: string } {
  if (target.length > maxTargetLength) {
    throw refusal('target_too_long', `the request target is longer than ${maxTargetLength} bytes`)
  }
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  const query = mark === -1 ? '' : target.slice(mark + 1)
  if (!pathGrammar.test(path)) {
    throw refusal(
      'malformed_target',
      `the path ${quoteForMessage(path)} contains a character that must be percent-encoded, or is not a path`,
    )
  }
  if (!queryGrammar.test(query)) {
    throw refusal(
      'malformed_target',
      `the query ${quoteForMessage(query)} contains a character that must be percent-encoded`,
    )
  }
  const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length
  return { path: path.slice(0, end), query }
}

function findRoute(path: string): Route | undefined {
  const fixed = routes.get(path)
  if (fixed !== undefined) return fixed
  const withId = withPlaceholder(path, idSegment)
  if (withId === undefined) return undefined
  const route = routes.get(withId)
  if (route !== undefined) return route
  const withIndex = withPlaceholder(withId, indexSegment)
  return withIndex === undefined ? undefined : routes.get(withIndex)
}

function withPlaceholder(path: string, segment: number): string | undefined {
  const start = segmentStart(path, segment)
  return start === -1 ? undefined : path.slice(0, start) + placeholder + path.slice(segmentEnd(path, start))
}

function segmentAt(path: string, segment: number): string {
  const start = segmentStart(path, segment)
  return start === -1 ? '' : path.slice(start, segmentEnd(path, start))
}

/** Offset of a segment; -1 if the path has fewer segments. */
function segmentStart(path: string, segment: number): number {
  let start = 0
  for (let before = 0; before < segment; before += 1) {
    start = path.indexOf('/', start) + 1
    if (start === 0) return -1
  }
  return start
}

function segmentEnd(path: string, start: number): number {
  const slash = path.indexOf('/', start)
  return slash === -1 ? path.length : slash
}

function readQuery(
  query: string,
  operation: Operation,
  allowed: ReadonlySet<string>,
): Required<Pick<RouteMatch, 'delimiter' | 'parameters' | 'extraParameters'>> {
  const extraParameters = new Map<string, string>()
  const parameters = new Map<string, string | readonly string[]>()
  let delimiter: string | undefined
  for (const pair of query === '' ? [] : query.split('&')) {
    const equals = pair.indexOf('=')
    if (equals < 1)
      throw refusal('invalid_query', `malformed query ${quoteForMessage(pair)}; expected name=value`)
    const name = decodeQuery(pair.slice(0, equals), 'a name in the query')
    const value = decodeQuery(pair.slice(equals + 1), `the query parameter ${quoteForMessage(name)}`)
    const type = operation.query.get(name)
    if (type === undefined && (allowed.has(name) || operation.droppedQuery.includes(name))) {
      if (extraParameters.has(name)) throw repeatedParameterError(name)
      extraParameters.set(name, value)
      continue
    }
    if (type === undefined) {
      assertFactSource(operation, 'query', name)
      throw unknownParameterError(name, operation)
    }
    if (name === 'delimiter') {
      if (delimiter !== undefined) throw repeatedParameterError(name)
      assertDelimiter(value)
      delimiter = value
    } else {
      addParameter(parameters, name, type, value)
    }
  }
  for (const name of operation.droppedQuery) extraParameters.delete(name)
  for (const name of operation.required) {
    if (!parameters.has(name))
      throw refusal('invalid_query', `missing query parameter ${quoteForMessage(name)} of ${operation.name}`)
  }
  return {
    delimiter: delimiter ?? defaultDelimiter,
    parameters: omitEmptyParameters(parameters),
    extraParameters,
  }
}

function addParameter(
  parameters: Map<string, string | readonly string[]>,
  name: string,
  type: ParameterType,
  value: string,
) {
  const known = parameters.get(name)
  if (type === 'strings') {
    if (value === '') throw refusal('invalid_query', `the query parameter ${quoteForMessage(name)} is empty`)
    parameters.set(name, typeof known === 'object' ? [...known, value] : [value])
    return
  }
  if (known !== undefined) throw repeatedParameterError(name)
  parameters.set(name, value === '' ? '' : validateParameter(name, type, value))
}

function validateParameter(name: string, type: ParameterType, value: string): string {
  if (type === 'integer' && !(/^\d{1,10}$/.test(value) && Number(value) <= 2_147_483_647)) {
    throw refusal(
      'invalid_query',
      `the query parameter ${quoteForMessage(name)} is ${quoteForMessage(value)}; expected an integer from 0 to 2147483647`,
    )
  }
  if (type !== 'boolean') return value
  const lower = value.toLowerCase()
  if (lower !== 'true' && lower !== 'false') {
    throw refusal(
      'invalid_query',
      `the query parameter ${quoteForMessage(name)} is ${quoteForMessage(value)}; expected true or false`,
    )
  }
  return lower
}

const absentIfEmpty: ReadonlySet<string> = new Set(['page_token', 'limit', 'timeout'])

/**
 * Runs last, to detect repeats of empty values. An empty filter counts as sent: taken as absent, it would select every
 * row.
 */
function omitEmptyParameters(parameters: Map<string, string | readonly string[]>): QueryParameters {
  for (const [name, value] of parameters) {
    if (value !== '') continue
    if (!absentIfEmpty.has(name))
      throw refusal('invalid_query', `the query parameter ${quoteForMessage(name)} is empty; omit it`)
    parameters.delete(name)
  }
  return parameters
}

/** InvalidInput (400). */
export function unknownParameterError(name: string, operation: Operation): CatalogError {
  const known = [...operation.query.keys()].join(', ')
  return refusal(
    'invalid_query',
    `unknown query parameter ${quoteForMessage(name)} of ${operation.name}; expected ${known}`,
  )
}

function repeatedParameterError(name: string): CatalogError {
  return refusal('malformed_target', `the query parameter ${quoteForMessage(name)} is repeated`)
}

/** Queries are form-encoded: real clients write a space as `+`. */
function decodeQuery(text: string, label: string): string {
  return decode(text.includes('+') ? text.replaceAll('+', '%20') : text, label)
}

function decode(text: string, label: string): string {
  if (!text.includes('%')) return text
  let decoded: string
  try {
    decoded = decodeURIComponent(text)
  } catch {
    throw refusal('malformed_target', `${label} is percent-encoded but not valid UTF-8`)
  }
  if (decoded.includes('\0')) throw refusal('invalid_request', `${label} contains a NUL character`)
  return decoded
}

/** Percent-encodes everything but the unreserved characters (RFC 3986, 2.3). */
function encode(text: string): string {
  if (unreserved.test(text)) return text
  return encodeURIComponent(text).replace(
    extraEncodedCharacters,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
