import { refusal } from '../../catalog-api/catalog-error.ts'
import { assertIdentifier, quoteForMessage, type Identifier } from '../../catalog-api/identifiers.ts'
import { everyElement, type BodyReference } from '../../catalog-api/operations.ts'
import { isObject } from '../../lib/json/is-object.ts'
import { isListOfStrings } from '../../lib/json/is-list-of-strings.ts'
import { describeJsonValue } from '../facts/fact-values.ts'
import { getMember, type JsonObject } from '../facts/stated-facts.ts'

/** Whether a JSON value contains a non-null member of that name at any depth. */
export function hasMemberAtAnyDepth(value: unknown, name: string): boolean {
  return findMembers(value, name).length > 0
}

/**
 * Finds the ids of the objects that a body refers to by name and namespace, in order; undefined for a reference that
 * names no object. Throws InvalidInput (400) for a name that no object can have.
 */
export function* findReferencedIds(
  members: JsonObject,
  { member, path }: BodyReference,
): Generator<Identifier | undefined, void, void> {
  for (const value of findMembers(members, member)) {
    for (const reference of followPath(value, path)) yield readReference(reference)
  }
}

/** Finds the outermost non-null members of that name at any depth. */
function findMembers(value: unknown, name: string, found: unknown[] = []): readonly unknown[] {
  if (Array.isArray(value)) {
    for (const element of value) findMembers(element, name, found)
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      const member = value[key]
      if (member === null) continue
      if (key === name) found.push(member)
      else if (typeof member === 'object') findMembers(member, name, found)
    }
  }
  return found
}

/** Yields what is at the path in the value; undefined if nothing is. */
function* followPath(value: unknown, path: readonly string[]): Generator<unknown, void, void> {
  const [name, ...rest] = path
  if (name === undefined) yield value
  else if (name !== everyElement) yield* followPath(getMember(value, name), rest)
  else if (!Array.isArray(value)) yield undefined
  else for (const element of value) yield* followPath(element, rest)
}

/** The remote client of LanceDB omits the path of the root. */
function readReference(reference: unknown): Identifier | undefined {
  const name = getMember(reference, 'name')
  const namespace = getMember(reference, 'namespace_path') ?? []
  if (typeof name !== 'string' || !isListOfStrings(namespace)) return undefined
  return assertIdentifier([...namespace, name])
}

/**
 * Finds the id in a declared member of the body of an extra operation; undefined if the body does not have it. Throws
 * InvalidInput (400) for a value that is no id.
 */
export function findIdMember(members: JsonObject, name: string): Identifier | undefined {
  const value = getMember(members, name)
  if (value === undefined) return undefined
  if (isListOfStrings(value) && value.length > 0) return assertIdentifier(value)
  throw refusal(
    'invalid_body',
    `${quoteForMessage(name)} in the body is ${describeJsonValue(value)}; expected the id of an object, a list of strings`,
  )
}
