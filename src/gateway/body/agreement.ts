import { assertPlaced, factOf } from '../../interface/decisive-names.ts'
import { refusal, type InterfaceError } from '../../interface/errors.ts'
import { sameIdentifier, show } from '../../interface/identifiers.ts'
import { describe, readMember } from '../facts/fact-values.ts'
import type { Matched } from '../context.ts'
import { assertContext } from './body-context.ts'
import { assertSpelling } from './spelling.ts'

/** The flags of DescribeTable that clients repeat in the body by the defaults of their model: the query wins. */
const repeatedFlags: ReadonlySet<string> = new Set([
  'with_table_uri',
  'load_detailed_metadata',
  'check_declared',
])

/**
 * Holds a member of a body against the route, the query and the table of facts (interface section 3.5). Returns the
 * JSON to send in its place, if it must change. Throws InvalidInput (400) for a member that contradicts the route,
 * that states a fact which the operation does not have, or that could not be good whatever the route says.
 */
export function judgeMember(request: Matched, name: string, value: unknown): string | undefined {
  const { operation, id, indexName, parameters } = request.route
  if (value === null) return undefined
  assertPlaced(operation, 'body', name)
  assertFact(request, name, value)
  if (name === 'context') assertContext(value)
  // A route that names no object has the empty id, and so must the body: only its entries name any.
  const hasSameId =
    operation.repeats.includes('id') || operation.object === 'none' || operation.body === 'map'
  if (name === 'id' && hasSameId) assertSameId(value, 'id', id)
  if (name === 'index_name' && operation.repeats.includes('index_name')) {
    if (typeof value !== 'string')
      throw refusal('invalid_body', `"index_name" in the body is ${describe(value)}; expected a string`)
    if (value !== indexName) throw differs(name, show(value), show(indexName ?? ''))
  }
  const parameter = parameters.get(name)
  // Facts that may stand in both are compared as facts.
  if (parameter === undefined || factOf(operation, name) !== undefined) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const expected = typeof parameter === 'string' ? parameter : JSON.stringify(parameter)
  if (text === expected) return undefined
  const isDefault = operation.name === 'DescribeTable' && repeatedFlags.has(name) && value === false
  if (isDefault) return expected
  throw differs(name, JSON.stringify(value), show(expected))
}

/** The same for a member of the object `query` in a body: it is about the object of the route, too. */
export function judgeQueryMember({ route }: Matched, name: string, value: unknown): void {
  if (value === null) return
  assertPlaced(route.operation, 'body.query', name)
  if (name === 'id') assertSameId(value, 'query.id', route.id)
  if (name === 'context') throw refusal('invalid_body', '"query.context" is not accepted; send it as headers')
}

/** The same for all members of a value that may be the object `query` in a body. */
export function judgeQuery(request: Matched, query: unknown): void {
  if (typeof query !== 'object' || query === null) return
  for (const [name, value] of Object.entries(query)) {
    assertQueryName(name)
    judgeQueryMember(request, name, value)
  }
}

/** Throws InvalidInput (400) for a name that no object `query` has, or that could be taken for another. */
export function assertQueryName(name: string): void {
  assertSpelling(name)
  if (name === 'identity')
    throw refusal('invalid_body', '"query.identity" is not accepted; send it as headers')
}

/** Throws InvalidInput (400) for an id in the body that is no list of strings, or not the one of the route. */
function assertSameId(value: unknown, what: string, id: readonly string[]): void {
  if (!Array.isArray(value) || !value.every((part) => typeof part === 'string')) {
    throw refusal(
      'invalid_body',
      `${show(what)} in the body is ${describe(value)}; expected a list of strings`,
    )
  }
  if (!sameIdentifier(value, id)) throw differs(what, JSON.stringify(value), JSON.stringify(id))
}

/** A fact is read again with the whole body; here it is refused before the rest of a large one has come. */
function assertFact({ route: { operation } }: Matched, name: string, value: unknown): void {
  const fact = factOf(operation, name)
  if (fact !== undefined) readMember(operation, fact, value, `the member "${name}" of the body`)
}

function differs(name: string, body: string, route: string): InterfaceError {
  return refusal(
    'conflicting_values',
    `${show(name)} is ${cut(body)} in the body and ${cut(route)} in the route; they must not differ`,
  )
}

/** JSON of a readable length. */
function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 197)}...` : text
}
