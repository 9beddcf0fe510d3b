import { assertFactSource, decisiveMembers, factForMember } from '../../catalog-api/decisive-members.ts'
import { isExtraOperation } from '../../catalog-api/extra-operation.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import { refusal, type CatalogError } from '../../catalog-api/catalog-error.ts'
import { isSameIdentifier, quoteForMessage } from '../../catalog-api/identifiers.ts'
import { describeJsonValue, parseFactMember } from '../facts/fact-values.ts'
import type { Matched } from '../context.ts'
import { assertBodyContext } from './body-context.ts'
import { isListOfStrings } from '../../lib/json/is-list-of-strings.ts'
import { assertMemberSpelling } from '../facts/member-spelling.ts'

/**
 * Flags of DescribeTable that clients repeat in the body with the defaults of their model: the query takes precedence.
 */
const defaultedFlags: ReadonlySet<string> = new Set([
  'with_table_uri',
  'load_detailed_metadata',
  'check_declared',
])

/**
 * Compares a body member with the route, the query and the table of facts. Returns replacement
 * JSON if the member must change. Throws InvalidInput (400) for a member that contradicts the route, states a fact that
 * the operation does not have, or is invalid for every route.
 */
export function checkMember(request: Matched, name: string, value: unknown): string | undefined {
  const { operation, id, indexName, parameters } = request.route
  if (value === null) return undefined
  if (isExtraOperation(operation)) assertNotDecisive(operation, name)
  assertFactSource(operation, 'body', name)
  assertFactValue(request, name, value)
  if (name === 'context') assertBodyContext(value)
  // A route without an object has the empty id, and so must the body: only its entries name objects.
  const hasSameId =
    operation.routeMembers.includes('id') || operation.object === 'none' || operation.body === 'map'
  if (name === 'id' && hasSameId) assertSameId(value, 'id', id)
  if (name === 'index_name' && operation.routeMembers.includes('index_name')) {
    if (typeof value !== 'string')
      throw refusal(
        'invalid_body',
        `"index_name" in the body is ${describeJsonValue(value)}; expected a string`,
      )
    if (value !== indexName)
      throw conflictError(name, quoteForMessage(value), quoteForMessage(indexName ?? ''))
  }
  const parameter = parameters.get(name)
  // Members that state facts are compared as facts.
  if (parameter === undefined || factForMember(operation, name) !== undefined) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const expected = typeof parameter === 'string' ? parameter : JSON.stringify(parameter)
  if (text === expected) return undefined
  const isDefault = operation.name === 'DescribeTable' && defaultedFlags.has(name) && value === false
  if (isDefault) return expected
  throw conflictError(name, JSON.stringify(value), quoteForMessage(expected))
}

/**
 * Checks a member of the object `query` in a body, which concerns the object of the route, too. Throws InvalidInput
 * (400).
 */
export function checkQueryMember({ route }: Matched, name: string, value: unknown): void {
  if (value === null) return
  assertFactSource(route.operation, 'body.query', name)
  if (name === 'id') assertSameId(value, 'query.id', route.id)
  if (name === 'context') throw refusal('invalid_body', '"query.context" is not accepted; send it as headers')
}

/** Checks all members of a value that may be the object `query` in a body. Throws InvalidInput (400). */
export function checkQuery(request: Matched, query: unknown): void {
  if (typeof query !== 'object' || query === null) return
  for (const [name, value] of Object.entries(query)) {
    assertQueryMemberName(name)
    checkQueryMember(request, name, value)
  }
}

/** Throws InvalidInput (400) for a name that no object `query` has, or that resembles one. */
export function assertQueryMemberName(name: string): void {
  assertMemberSpelling(name)
  if (name === 'identity')
    throw refusal('invalid_body', '"query.identity" is not accepted; send it as headers')
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

/** Members with the same meaning in every request. */
const commonMembers: ReadonlySet<string> = new Set(['id', 'identity', 'context'])

/** Nothing says what such a member means in an extra operation, and policies would not see it. */
function assertNotDecisive({ name: operation }: Operation, name: string): void {
  if (commonMembers.has(name) || !decisiveMembers.has(name)) return
  throw refusal(
    'misplaced_parameter',
    `${operation} does not accept the member ${quoteForMessage(name)} of the body, which other operations take a fact or an id from; omit it`,
  )
}

/** Facts are read again from the complete body; this check rejects a large body early. */
function assertFactValue({ route: { operation } }: Matched, name: string, value: unknown): void {
  const fact = factForMember(operation, name)
  if (fact !== undefined) parseFactMember(operation, fact, value, `the member "${name}" of the body`)
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
