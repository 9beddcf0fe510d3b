import {
  assertFactSource,
  type CatalogError,
  findFact,
  foldName,
  isDecisiveName,
  isExtraOperation,
  isReservedName,
  isSameIdentifier,
  listIdMembers,
  type Operation,
  quoteForMessage,
  refusal,
  truncateForMessage,
  undefinedValue,
} from '../../catalog-api/index.ts'
import { hasHeader, isListOfStrings, type JsonForm, type JsonKind, suggestSimilar } from '../../lib/index.ts'
import type { Matched, Received } from '../context.ts'
import { describeJsonValue, respellWord } from '../facts/fact-values.ts'
import { contextKeyToHeader } from '../facts/stated-facts.ts'
import { getPath, type OpenMember } from '../json/json-transformer.ts'

/**
 * Returns the form of a member of a JSON body. Throws InvalidInput (400) if its object has no such member. Adds the path of
 * one that only the settings of the upstream allow to `allowed`.
 */
export function checkName(operation: Operation, member: OpenMember, allowed: Set<string>): JsonForm {
  const { name, form, object } = member
  if (form === undefined) throw unknownMemberError(operation, member)
  if (object.form !== undefinedValue) {
    if (form === undefinedValue && !isExtraOperation(operation)) allowed.add(getPath(member))
    return form
  }
  if (!isDecisiveName(name)) return form
  throw refusal(
    'unknown_member',
    `${quoteForMessage(getPath(member))} in the body has the name ${quoteForMessage(name)}, which has a meaning of its own in the catalog API; omit it`,
  )
}

/** Throws InvalidInput (400) if a member has a value of a kind that the form does not allow. */
export function assertKind(member: OpenMember, form: JsonForm): void {
  const { kind } = member
  if (kind === 'null' || form.kinds.has(kind)) return
  throw refusal(
    'invalid_body',
    `${quoteForMessage(getPath(member))} in the body is ${kindTexts[kind]}; expected ${describeForm(form)}`,
  )
}

function unknownMemberError(operation: Operation, member: OpenMember): CatalogError {
  const { name, depth, parent, object } = member
  const known = [...object.form.members.keys()]
  const folded = foldName(name)
  const meant = known.find((other) => foldName(other) === folded)
  if (meant !== undefined) {
    return refusal(
      'ambiguous_member',
      `the key ${quoteForMessage(name)} in the body is ambiguous; write ${quoteForMessage(meant)}`,
    )
  }
  if (depth === 1) assertFactSource(operation, 'body', name)
  if (depth === 2 && parent?.name === 'query') assertFactSource(operation, 'body.query', name)
  const remedy = isReservedName(name)
    ? 'omit it'
    : `omit it, or allow it by "allowedMembers" in the settings of the upstream${suggestSimilar(name, known)}`
  return refusal(
    'unknown_member',
    `${operation.name} has no member ${quoteForMessage(getPath(member))} in its body; ${remedy}`,
  )
}

const kindTexts: Readonly<Record<JsonKind, string>> = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  list: 'a list',
}

function describeForm({ kinds, items }: JsonForm): string {
  const isOfStrings = items?.kinds.size === 1 && items.kinds.has('string')
  const texts = [...kinds].map((kind) =>
    kind === 'list' && isOfStrings ? 'a list of strings' : kindTexts[kind],
  )
  return texts.join(' or ') || 'null'
}

/**
 * Whether a header of the request has the same meaning as a context entry of the body; the header takes precedence. Throws
 * InvalidInput (400) for a key that only headers or the gateway may set.
 */
export function isOverriddenByHeader(key: string, { head }: Received): boolean {
  return hasHeader(head.headers, contextKeyToHeader(key))
}

/**
 * Compares a body member with the route, the query and the table of facts. Returns replacement JSON if the member must
 * change. Throws InvalidInput (400) for a member that contradicts the route, or is invalid for every route.
 */
export function checkMember(request: Matched, name: string, value: unknown): string | undefined {
  const { operation, indexName, parameters } = request.route
  if (value === null) return undefined
  // A route without an object has the empty id, and so must the body: only its entries name objects.
  const hasSameId = operation.routeMembers.includes('id') || operation.object === 'none'
  if (name === 'id' && hasSameId) return checkObjectId(request, 'id', value)
  const absolute = restateRelativeId(request, name, value)
  if (absolute !== undefined) return absolute
  const isOfRoute = name === 'index_name' && operation.routeMembers.includes('index_name')
  if (isOfRoute && value !== indexName) throw conflictError(name, value, indexName)
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
  throw conflictError(name, value, expected)
}

/** Returns the id from the root, if the client sends it in another form. Throws InvalidInput (400) for another id. */
export function checkObjectId(
  { route, database }: Matched,
  what: string,
  value: unknown,
): string | undefined {
  if (!isListOfStrings(value)) {
    throw refusal(
      'invalid_body',
      `${quoteForMessage(what)} in the body is ${describeJsonValue(value)}; expected a list of strings`,
    )
  }
  const id = route.id.slice(database.length)
  // DuckDB's extension sends one element with the text of the route: the same object, by the delimiter of the client. Refused,
  // the client would try another object.
  const isRouteText = id.length > 1 && value.length === 1 && value[0] === id.join(route.delimiter)
  if (!isRouteText && !isSameIdentifier(value, id)) throw conflictError(what, value, id)
  return isRouteText || (database.length > 0 && route.id.length > 0) ? JSON.stringify(route.id) : undefined
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

function conflictError(name: string, value: unknown, expected: unknown): CatalogError {
  const [inBody, inRoute] = [value, expected].map((one) => truncateForMessage(JSON.stringify(one)))
  return refusal(
    'conflicting_values',
    `${quoteForMessage(name)} is ${inBody} in the body and ${inRoute} in the route; they must not differ`,
  )
}
