import { isEmptyValue } from '../facts/fact-values.ts'
import {
  assertIdentifier,
  type BodyReference,
  everyElement,
  getOperation,
  getRequirements,
  type Identifier,
  type Operation,
  type OperationName,
  quoteForMessage,
  refusal,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import { isListOfStrings, isObject } from '../../lib/index.ts'
import { describeJsonValue, assertManifestPath } from '../facts/fact-values.ts'
import { getMember, type JsonObject, readEntryFacts } from '../facts/stated-facts.ts'
import type { RequiredPermission } from './required-permission.ts'
import { operationFactsOf, permissionFacts } from '../../policy/index.ts'

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
export function findMembers(value: unknown, name: string, found: unknown[] = []): readonly unknown[] {
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

/** Yields the values at the path in the value; undefined for a missing one. */
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
 * Finds the id in a declared member of the body of an extra operation; none if the body does not have it. Throws
 * InvalidInput (400) for a value that is no id.
 */
export function findIdMember(members: JsonObject, name: string): readonly Identifier[] {
  const value = getMember(members, name)
  if (value === undefined) return []
  if (isListOfStrings(value) && value.length > 0) return [assertIdentifier(value)]
  throw refusal(
    'invalid_body',
    `${quoteForMessage(name)} in the body is ${describeJsonValue(value)}; expected the id of an object, a list of strings`,
  )
}

/**
 * Lists the permissions that the entries of a batch require, in order; none for other operations. Facts are read from
 * each entry, by the table of the operation that the entry stands for. Throws InvalidInput (400) for an entry that is
 * not an object, or that has the envelope of a request.
 */
export function* listBatchPermissions(
  batch: Operation,
  members: JsonObject,
): Generator<RequiredPermission, void, void> {
  if (batch.entries === undefined) return
  const { member, operation } = batch.entries
  const entries: unknown = getMember(members, member)
  if (!Array.isArray(entries) || entries.length === 0) {
    const found = describeJsonValue(entries)
    throw refusal(
      'invalid_body',
      `"${member}" in the body is ${found}; expected a list of at least one object`,
    )
  }
  for (const [index, value] of entries.entries()) {
    const permission = readEntryPermission(operation, value, `${member}[${index}]`)
    yield permission
    yield* listWithheldPermissions(batch, permission, permission.entry.stated)
  }
}

function readEntryPermission(
  operations: OperationName | Readonly<Record<string, OperationName>>,
  value: unknown,
  index: string,
) {
  const outer = readEntryObject(value, index)
  const isNamed = typeof operations === 'string'
  const [member, name] = isNamed ? [undefined, operations] : findSoleMember(outer, operations, index)
  const what = member === undefined ? index : `${index}.${member}`
  const entry = member === undefined ? outer : readEntryObject(outer[member], what)
  assertNoEnvelope(entry, what)
  const operation = getOperation(name)
  const facts = readEntryFacts(operation, entry, what)
  if (operation.requiredFacts.includes('manifestPath'))
    assertManifestPath(facts.stated.manifestPath, `${what}.manifest_path`)
  if (facts.stated.location !== undefined || facts.stated.vendCredentials === true) {
    throw refusal(
      'invalid_body',
      `${what} sets a location or requests credentials; declare this table in a request of its own`,
    )
  }
  const stated = getMember(entry, 'id')
  if (!isListOfStrings(stated) || stated.length === 0)
    throw refusal('invalid_body', `${what} names no table; expected "id", a list of strings`)
  const id = assertIdentifier(stated)
  return {
    permission: name,
    kind: 'table',
    id,
    facts: operationFactsOf(operation, id, facts),
    requiredBy: what,
    entry: { members: entry, stated: facts.stated },
  } as const satisfies RequiredPermission
}

function assertNoEnvelope(entry: JsonObject, what: string): void {
  for (const [name, value] of Object.entries(entry)) {
    if (value === null) continue
    if (name === 'identity' || (name === 'context' && !isEmptyValue(value)))
      throw refusal('invalid_body', `${what}.${name} is not accepted inside a batch; send headers`)
  }
}

/** Finds the only member of an entry, and its operation. */
function findSoleMember(
  entry: JsonObject,
  operations: Readonly<Record<string, OperationName>>,
  what: string,
): [name: string, operation: OperationName] {
  const found = Object.keys(entry).filter((name) => entry[name] !== null)
  const sole = found.length === 1 && Object.entries(operations).find(([name]) => name === found[0])
  if (sole) return sole
  const expected = `expected exactly one of ${Object.keys(operations).join(', ')}`
  throw refusal(
    'invalid_body',
    `${what} holds ${found.map(quoteForMessage).join(', ') || 'nothing'}; ${expected}`,
  )
}

function readEntryObject(value: unknown, what: string): JsonObject {
  if (!isObject(value)) {
    throw refusal('invalid_body', `"${what}" in the body is ${describeJsonValue(value)}; expected an object`)
  }
  return value
}

/**
 * Lists the permissions on an object without which its storage credentials are removed from the response to the
 * operation: it may have those of any object that the request names.
 */
export function listWithheldPermissions(
  operation: Operation,
  { kind, id }: Pick<RequiredPermission, 'kind' | 'id'>,
  stated: StatedFacts,
): readonly RequiredPermission[] {
  return getRequirements(operation)
    .filter(({ isWithheld }) => isWithheld)
    .map(({ permission }) => ({
      permission,
      kind,
      id,
      facts: permissionFacts(permission, id, stated),
      fallback: 'withheld',
    }))
}
