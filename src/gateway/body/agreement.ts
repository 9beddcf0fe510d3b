import { invalidInput, type InterfaceError } from '../../interface/errors.ts'
import { sameIdentifier, show } from '../../interface/identifiers.ts'
import { assertReferences, identifierMember, stringMember, type Members } from './body-facts.ts'
import { assertContext } from './body-context.ts'
import type { Matched } from '../stages.ts'

/**
 * Interface section 3.5: a value that stands in the route and in the body is the same in both. Throws InvalidInput
 * (400) for a member of the body that contradicts the route, or could not be good whatever the route says.
 */
export function assertAgreement(request: Matched, name: string, value: unknown): void {
  const { operation, id, indexName, parameters } = request.meaning
  const members = { [name]: value }
  assertReferences(members)
  if (name === 'context') assertContext(value)
  // A route that names no object has the empty id, and so must the body: only its entries name any.
  const hasSameId = operation.repeats.includes('id') || operation.object === 'none'
  if (name === 'id' && hasSameId) assertSameId(members, 'id', id)
  if (name === 'index_name' && operation.repeats.includes('index_name')) {
    const own = stringMember(members, 'index_name')
    if (own !== undefined && own !== indexName) throw differs(name, show(own), show(indexName ?? ''))
  }
  const parameter = parameters.get(name)
  if (parameter === undefined || value === null) return
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const expected = typeof parameter === 'string' ? parameter : JSON.stringify(parameter)
  if (text !== expected) throw differs(name, JSON.stringify(value), show(expected))
}

/** The same for a member of the `query` within the body: it is about the object of the route too. */
export function assertQueryAgreement(request: Matched, name: string, value: unknown): void {
  const members = { [name]: value }
  assertReferences(members)
  if (name === 'id') assertSameId(members, 'query.id', request.meaning.id)
  if (name === 'context' && value !== null) {
    throw invalidInput('"query.context" is not accepted; send it as headers')
  }
}

/** Throws InvalidInput (400) for an id in the body that is no list of strings, or not the one of the route. */
export function assertSameId(members: Members, what: string, id: readonly string[]): void {
  const own = identifierMember(members, 'id', what)
  if (own !== undefined && !sameIdentifier(own, id))
    throw differs(what, JSON.stringify(own), JSON.stringify(id))
}

function differs(name: string, body: string, route: string): InterfaceError {
  return invalidInput(
    `${show(name)} is ${cut(body)} in the body and ${cut(route)} in the route; they must not differ`,
  )
}

/** JSON of a readable length. */
function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 197)}...` : text
}
