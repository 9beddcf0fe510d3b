import { refusal, type CatalogError } from './catalog-error.ts'
import {
  assertName,
  defaultDelimiter,
  formatIdentifier,
  parseIdentifier,
  quoteForMessage,
  type Identifier,
  type QuotesInNames,
} from './identifiers.ts'
import type { BuiltInOperation, Operation } from './operations.ts'
import { decodeComponent, encodeComponent } from './percent-encoding.ts'
import { readQuery, type QueryParameters } from './query-parameters.ts'
import {
  builtInRoutes,
  findRoute,
  idSegment,
  indexSegment,
  segmentAt,
  type RouteTable,
} from './route-table.ts'

/** The complete meaning of the method and target of a request. */
export interface RouteMatch<Kind extends Operation = Operation> {
  readonly operation: Kind
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

export const maxTargetLength = 16_384
// RFC 3986, 3.3: a path of pchar segments; and 3.4 for the query.
export const pathGrammar = /^(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)+$/
export const queryGrammar = /^(?:[A-Za-z0-9\-._~!$'()*+,;:@/?&=]|%[0-9A-Fa-f]{2})*$/

/** `parseTargetIn` for the catalog API alone. */
export function parseTarget(
  method: string,
  target: string,
  options?: TargetOptions,
): RouteMatch<BuiltInOperation> {
  return parseTargetIn(builtInRoutes, method, target, options)
}

/**
 * Parses a request target (origin form, RFC 3986); every part is decoded exactly once, nothing is normalised, so it has
 * exactly one meaning. One trailing slash is accepted. The path must start with the base path, as it is written there,
 * exactly once. `quotes` applies to the id. Throws CatalogError: 400 outside the grammar, 404 for an unknown route, 405
 * for another method.
 */
export function parseTargetIn<Kind extends Operation>(
  routes: RouteTable<Kind>,
  method: string,
  target: string,
  { basePath = '', allowedParameters = noParameters, quotes = 'refused' }: TargetOptions = {},
): RouteMatch<Kind> {
  const { path: wholePath, query } = splitTarget(target)
  const isBelow = wholePath.startsWith(`${basePath}/`)
  const path = isBelow ? wholePath.slice(basePath.length) : wholePath
  const found = isBelow ? findRoute(routes, path) : undefined
  if (found === undefined) {
    const expected = isBelow ? '' : `; expected a path below ${quoteForMessage(basePath)}`
    throw unknownRouteError(wholePath, expected)
  }
  const { operation } = found
  if (!operation.methods.some((accepted) => accepted === method)) {
    const allow = operation.methods.join(', ')
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
    ? parseIdentifier(decodeComponent(segmentAt(path, idSegment), 'the id'), delimiter, quotes)
    : []
  if (id.length === 0 && found.hasId && operation.object !== 'namespace') {
    throw refusal(
      'invalid_id',
      `${operation.name} takes the id of a ${operation.object}; the root is a namespace`,
    )
  }
  const indexName = found.hasIndex
    ? decodeComponent(segmentAt(path, indexSegment), 'the index name')
    : undefined
  if (indexName !== undefined) assertName(indexName, 'the index name')
  const route = { operation, id, delimiter, indexName, parameters }
  return extraParameters.size === 0 ? route : { ...route, extraParameters }
}

/** The 404 for a path without an operation. */
export function unknownRouteError(path: string, expected = ''): CatalogError {
  return refusal('unknown_route', `unknown route ${quoteForMessage(path)}${expected}`)
}

/**
 * Formats the canonical target with the id joined by `idDelimiter`. Without an id in the route, the delimiter of the
 * request is retained, because it applies to the response. Throws InvalidInput (400) if the id cannot be joined by it.
 */
export function buildTarget(target: RouteMatch, idDelimiter: string = defaultDelimiter): string {
  const { operation, id, indexName, parameters, extraParameters = [] } = target
  const delimiter = operation.object === 'none' ? target.delimiter : idDelimiter
  let path = operation.path
  if (operation.object !== 'none')
    path = path.replace('{id}', () => encodeComponent(formatIdentifier(id, delimiter)))
  if (indexName !== undefined) path = path.replace('{index_name}', () => encodeComponent(indexName))
  let query = delimiter === defaultDelimiter ? '' : `&delimiter=${encodeComponent(delimiter)}`
  for (const [name, value] of parameters) {
    for (const one of typeof value === 'string' ? [value] : value) query += `&${name}=${encodeComponent(one)}`
  }
  for (const [name, value] of extraParameters) query += `&${encodeComponent(name)}=${encodeComponent(value)}`
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
