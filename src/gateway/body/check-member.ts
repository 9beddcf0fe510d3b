import {
  CatalogError,
  findFact,
  type Identifier,
  isSameIdentifier,
  listIdMembers,
  quoteForMessage,
  refusal,
} from '../../catalog-api/index.ts'
import { describeJsonValue, respellWord } from '../facts/fact-values.ts'
import type { Matched, Received } from '../context.ts'
import { getMembers, hasHeader, isListOfStrings } from '../../lib/index.ts'
import { contextKeyToHeader } from '../facts/stated-facts.ts'

/** Throws InvalidInput (400) if the context of a body contains a key that only headers or the gateway may set. */
function assertBodyContext(context: unknown): void {
  for (const key of Object.keys(getMembers(context))) {
    const header = contextKeyToHeader(key)
    if (header instanceof CatalogError) throw header
  }
}

/** Whether a header of the request has the same meaning as a context entry of the body; the header takes precedence. */
export function isOverriddenByHeader(key: string, { head }: Received): boolean {
  const name = contextKeyToHeader(key)
  return typeof name === 'string' && hasHeader(head.headers, name)
}

/**
 * Compares a body member with the route, the query and the table of facts. Returns replacement JSON if the member must
 * change. Throws InvalidInput (400) for a member that contradicts the route, or is invalid for every route.
 */
export function checkMember(request: Matched, name: string, value: unknown): string | undefined {
  const { operation, indexName, parameters } = request.route
  if (value === null) return undefined
  if (name === 'context') assertBodyContext(value)
  // A route without an object has the empty id, and so must the body: only its entries name objects.
  const hasSameId = operation.routeMembers.includes('id') || operation.object === 'none'
  if (name === 'id' && hasSameId) return checkObjectId(request, 'id', value)
  const absolute = restateRelativeId(request, name, value)
  if (absolute !== undefined) return absolute
  const isOfRoute = name === 'index_name' && operation.routeMembers.includes('index_name')
  if (isOfRoute && value !== indexName)
    throw conflictError(name, JSON.stringify(value), quoteForMessage(indexName ?? ''))
  const parameter = parameters.get(name)
  const fact = findFact(operation, 'body', name)
  // Members that state facts are compared as facts. Catalogs may read a mode or behavior as another one.
  if (fact !== undefined) {
    const spelled = typeof value === 'string' ? respellWord(operation, fact, value) : value
    return spelled === value ? undefined : JSON.stringify(spelled)
  }
  if (parameter === undefined) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const expected = typeof parameter === 'string' ? parameter : JSON.stringify(parameter)
  if (text === expected) return undefined
  if (value === false && operation.defaultedFlags.includes(name)) return expected
  throw conflictError(name, JSON.stringify(value), quoteForMessage(expected))
}

/**
 * Checks a member of the object `query` in a body, which concerns the object of the route, too. Throws InvalidInput
 * (400).
 */
export function checkQueryMember(request: Matched, name: string, value: unknown): string | undefined {
  if (value === null) return undefined
  if (name === 'context') throw refusal('invalid_body', '"query.context" is not accepted; send it as headers')
  return name === 'id' ? checkObjectId(request, 'query.id', value) : undefined
}

/** Returns the id from the root, if the client sends it in another form. Throws InvalidInput (400) for another id. */
function checkObjectId(request: Matched, what: string, value: unknown): string | undefined {
  const { route, database } = request
  const isText = isRouteText(request, value)
  if (!isText) assertSameId(value, what, toRelativeId(request))
  return isText || (database.length > 0 && route.id.length > 0) ? JSON.stringify(route.id) : undefined
}

/**
 * Whether an id in the body is one element with the text of the route, as DuckDB's extension sends it: the same object, by
 * the delimiter of the client. It is forwarded as the list of its parts. Refused, the client would try another object.
 */
function isRouteText(request: Matched, value: unknown): boolean {
  const id = toRelativeId(request)
  return (
    id.length > 1 &&
    isListOfStrings(value) &&
    value.length === 1 &&
    value[0] === id.join(request.route.delimiter)
  )
}

/** The id of the route as the client sends it. */
function toRelativeId({ route, database }: Matched): Identifier {
  return route.id.slice(database.length)
}

/** Returns an id in the body from the root; undefined for any other member, and if the client sends it so. */
function restateRelativeId({ route, database }: Matched, name: string, value: unknown): string | undefined {
  if (database.length === 0 || !isListOfStrings(value)) return undefined
  const { operation, id } = route
  // A job has no id besides its own.
  if (name === 'id') return id.length === 0 ? undefined : JSON.stringify(id)
  const isId = listIdMembers(operation).includes(name) || findFact(operation, 'body', name) === 'newNamespace'
  return isId ? JSON.stringify([...database, ...value]) : undefined
}

/** Throws InvalidInput (400) if an id in the body is not a list of strings, or differs from the id of the route. */
function assertSameId(value: unknown, what: string, id: readonly string[]): void {
  if (!isListOfStrings(value)) {
    throw refusal(
      'invalid_body',
      `${quoteForMessage(what)} in the body is ${describeJsonValue(value)}; expected a list of strings`,
    )
  }
  if (!isSameIdentifier(value, id)) throw conflictError(what, JSON.stringify(value), JSON.stringify(id))
}

function conflictError(name: string, body: string, route: string): CatalogError {
  return refusal(
    'conflicting_values',
    `${quoteForMessage(name)} is ${truncate(body)} in the body and ${truncate(route)} in the route; they must not differ`,
  )
}

/** Limits JSON to a readable length. */
function truncate(text: string): string {
  return text.length > 200 ? `${text.slice(0, 197)}...` : text
}
