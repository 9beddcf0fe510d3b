import { refusal, type CatalogError } from './catalog-error.ts'
import {
  assertName,
  defaultDelimiter,
  formatIdentifier,
  parseIdentifier,
  quoteForMessage,
  type Identifier,
} from './identifiers.ts'
import { formatIdentifierForMessage } from './identifier-text.ts'
import { apiPaths, uploadIdName, type BuiltInOperation, type Operation } from './operations.ts'
import {
  decodeComponent,
  encodeComponent,
  isUnsigned64,
  readQuery,
  unsigned64,
  type QueryParameters,
} from './query-parameters.ts'
import {
  builtInRoutes,
  findRoute,
  idSegment,
  nameSegment,
  rowSegment,
  segmentAt,
  type RouteTable,
} from './route-table.ts'

/** The complete meaning of the method and target of a request. */
export interface RouteMatch<Kind extends Operation = Operation> {
  readonly operation: Kind
  /** The path with placeholders, instead of that of the operation, by which the request is forwarded. */
  readonly alias?: string
  /** Empty for the root, and for operations without an object in the route. */
  readonly id: Identifier
  /** Separates the parts of ids in this request and in the response to ListAllTables. */
  readonly delimiter: string
  readonly indexName: string | undefined
  /** A value of a column, in routes of operations that have it in their paths. A row id has up to 64 bits, so it is a text. */
  readonly blob?: { readonly column: string; readonly rowId: string }
  readonly parameters: QueryParameters
}

const maxTargetLength = 16_384
// RFC 3986, 3.3: a path of pchar segments; and 3.4 for the query.
const pathGrammar = /^(?:\/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*)+$/
const queryGrammar = /^(?:[A-Za-z0-9\-._~!$'()*+,;:@/?&=]|%[0-9A-Fa-f]{2})*$/

/** `parseTargetIn` for the catalog API alone. */
export function parseTarget(method: string, target: string, basePath?: string): RouteMatch<BuiltInOperation> {
  return parseTargetIn(builtInRoutes, method, target, basePath)
}

/**
 * Parses a request target (origin form, RFC 3986); every part is decoded exactly once, nothing is normalised, so it has
 * exactly one meaning. One trailing slash is accepted. The path must start with the base path, which is
 * empty or without a slash at its end, as it is written there, exactly once. Throws CatalogError: 400 outside the grammar, 404 for a path outside the API,
 * 406 for one of the API without an operation, 405 for another method.
 */
export function parseTargetIn<Kind extends Operation>(
  routes: RouteTable<Kind>,
  method: string,
  target: string,
  basePath = '',
): RouteMatch<Kind> {
  const { path: sent, query } = splitTarget(target)
  const wholePath = sent.length > 1 && sent.endsWith('/') ? sent.slice(0, -1) : sent
  const isBelow = wholePath.startsWith(`${basePath}/`)
  const path = isBelow ? wholePath.slice(basePath.length) : wholePath
  const found = isBelow ? findRoute(routes, path) : undefined
  if (found === undefined) throw createUnknownRouteError(wholePath, basePath)
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
  const { delimiter, parameters } = readQuery(query, operation)
  const hasId = found.path.includes('{id}')
  const id = hasId ? parseIdentifier(decodeComponent(segmentAt(path, idSegment), 'the id'), delimiter) : []
  if (hasId) assertCompleteId(operation, id)
  const hasIndex = found.path.includes('{index_name}')
  const indexName = hasIndex ? readName(path, nameSegment, 'the index name') : undefined
  const blob = found.path.includes('{row_id}') ? { blob: readBlobPath(path) } : {}
  const alias = operation.forwardsAliases && found.path !== operation.path ? { alias: found.path } : {}
  return {
    operation: selectPart(operation, parameters),
    ...alias,
    id,
    delimiter,
    indexName,
    ...blob,
    parameters,
  }
}

/** An upload that is part of a multipart write creates no version. A part of none would be a whole insert. */
function selectPart<Kind extends Operation>(operation: Kind, parameters: QueryParameters): Kind {
  if (operation.part === undefined) return operation
  if (parameters.has(uploadIdName)) return operation.part
  if (parameters.has('upload_part_id')) {
    throw refusal(
      'invalid_query',
      `the query parameter "upload_part_id" of ${operation.name} is accepted only together with "${uploadIdName}"`,
    )
  }
  return operation
}

/** Decodes a segment. Throws InvalidInput (400) unless it is a name. */
function readName(path: string, segment: number, label: string): string {
  const name = decodeComponent(segmentAt(path, segment), label)
  assertName(name, label)
  return name
}

function readBlobPath(path: string) {
  const rowId = segmentAt(path, rowSegment)
  if (!isUnsigned64(rowId))
    throw refusal('invalid_id', `the row id is ${quoteForMessage(rowId)}; expected ${unsigned64}`)
  return { column: readName(path, nameSegment, 'the column'), rowId }
}

/** A transaction without a table would be subject to the rules of none. */
function assertCompleteId({ name, object }: Operation, id: Identifier): void {
  if (object !== 'namespace' && id.length === 0) {
    throw refusal('invalid_id', `${name} takes the id of a ${object}; the root is a namespace`)
  }
  if (object === 'transaction' && id.length === 1) {
    throw refusal(
      'invalid_id',
      `${name} takes the id of a table followed by a transaction; ${formatIdentifierForMessage(id)} names no table`,
    )
  }
}

function createUnknownRouteError(path: string, basePath: string): CatalogError {
  if (apiPaths.some((api) => path.startsWith(`${basePath}${api}/`))) return unknownOperationError(path)
  const expected = quoteForMessage(`${basePath}${apiPaths[0]}`)
  return refusal('unknown_route', `unknown route ${quoteForMessage(path)}; expected a path below ${expected}`)
}

/**
 * The error for a path of the catalog API without an operation: 406, because clients of LanceDB report every 404 below
 * a table as a missing table or index.
 */
export function unknownOperationError(path: string): CatalogError {
  return refusal(
    'unknown_operation',
    `unknown route ${quoteForMessage(path)}: the catalog has no such operation`,
    { detail: 'an id is one part of a path, and "$" joins its names: /v1/table/prod$sales$orders/describe' },
  )
}

/**
 * Formats the canonical target with the id joined by `idDelimiter`. Without an id in the route, the delimiter of the
 * request is retained, because it applies to the response. Throws InvalidInput (400) if the id cannot be joined by it.
 */
export function buildTarget(target: RouteMatch, idDelimiter: string = defaultDelimiter): string {
  const { operation, alias, id, indexName, blob, parameters } = target
  const delimiter = operation.object === 'none' ? target.delimiter : idDelimiter
  let path = (alias ?? operation.path).replace('{id}', () => encodeComponent(formatIdentifier(id, delimiter)))
  if (indexName !== undefined) path = path.replace('{index_name}', () => encodeComponent(indexName))
  if (blob !== undefined) {
    path = path.replace('{column}', () => encodeComponent(blob.column)).replace('{row_id}', blob.rowId)
  }
  let query = delimiter === defaultDelimiter ? '' : `&delimiter=${encodeComponent(delimiter)}`
  for (const [name, value] of parameters) {
    for (const one of typeof value === 'string' ? [value] : value) query += `&${name}=${encodeComponent(one)}`
  }
  return query === '' ? path : `${path}?${query.slice(1)}`
}

/** Splits a request target (origin form). Throws InvalidInput (400, 414) for one outside the grammar of RFC 3986. */
export function splitTarget(target: string): { path: string; query: string } {
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
  return { path, query }
}
