import { assertPlaced } from '../interface/decisive-names.ts'
import { refusal } from '../interface/errors.ts'
import { assertIdentifier, show, type Identifier } from '../interface/identifiers.ts'
import { operationNamed, type Operation, type OperationName } from '../interface/operations.ts'
import { factsOfOperation } from '../policy/operation-facts.ts'
import { confineManifest } from './body/confine-manifest.ts'
import { assertSpelling } from './body/spelling.ts'
import { describe } from './facts/fact-values.ts'
import { memberOf, readEntryFacts, type Members } from './facts/read-facts.ts'
import type { PermissionNeed } from './needs.ts'

/**
 * The permissions that the entries of a batch need, in their order; none for other operations. An entry states its
 * own facts, by the same table as the operation that it stands for. Throws InvalidInput (400) at an entry that is
 * none, or that states a fact where its operation has none.
 */
export function* batchNeeds({ entries }: Operation, members: Members): Generator<PermissionNeed, void, void> {
  if (entries === undefined) return
  const { member, operation } = entries
  for (const [index, value] of listIn(members, member).entries()) {
    const what = `${member}[${index}]`
    const entry = objectOf(value, what)
    if (typeof operation === 'string') {
      yield entryNeed(operation, entry, what)
      continue
    }
    const name = soleMember(entry, Object.keys(operation), what)
    const request = objectOf(entry[name], `${what}.${name}`)
    yield entryNeed(operation[name] as OperationName, request, `${what}.${name}`)
  }
}

/** Throws InvalidInput (413) for a batch of more entries than that. */
export function assertEntryCount({ entries }: Operation, members: Members, maximum: number): void {
  const list = entries && memberOf(members, entries.member)
  if (!Array.isArray(list) || list.length <= maximum) return
  throw refusal('batch_too_large', `the batch has ${list.length} entries; expected at most ${maximum}`)
}

function entryNeed(name: OperationName, entry: Members, what: string): PermissionNeed {
  const operation = operationNamed(name)
  assertMembers(operation, entry, what)
  const facts = readEntryFacts(operation, entry, what)
  if (name === 'CreateTableVersion') confineManifest(facts.stated.manifestPath, `${what}.manifest_path`)
  if (facts.stated.location !== undefined || facts.stated.vendCredentials === true) {
    throw refusal(
      'invalid_body',
      `${what} chooses a location or asks for credentials; declare such a table by itself`,
    )
  }
  const id = idOf(entry, what)
  return {
    permission: name,
    kind: 'table',
    id,
    facts: factsOfOperation(operation, id, facts),
    because: what,
    entry: { members: entry, stated: facts.stated },
  }
}

function assertMembers(operation: Operation, entry: Members, what: string): void {
  for (const [name, value] of Object.entries(entry)) {
    assertSpelling(name)
    if (value === null) continue
    assertPlaced(operation, 'body', name)
    const isEnvelope = name === 'identity' || (name === 'context' && !isEmpty(value))
    if (isEnvelope)
      throw refusal('invalid_body', `${what}.${name} is not accepted inside a batch; send headers`)
    if (name === 'query') assertNoFacts(operation, value)
  }
}

function assertNoFacts(operation: Operation, query: unknown): void {
  if (typeof query !== 'object' || query === null) return
  for (const name of Object.keys(query)) {
    assertSpelling(name)
    assertPlaced(operation, 'body.query', name)
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function idOf(entry: Members, what: string): Identifier {
  const id = memberOf(entry, 'id')
  if (Array.isArray(id) && id.length > 0 && id.every((part) => typeof part === 'string')) {
    return assertIdentifier(id)
  }
  throw refusal('invalid_body', `${what} names no table; expected "id", a list of strings`)
}

function soleMember(entry: Members, expected: readonly string[], what: string): string {
  const found = Object.keys(entry).filter((name) => entry[name] !== null)
  const [name] = found
  if (name !== undefined && found.length === 1 && expected.includes(name)) return name
  throw refusal(
    'invalid_body',
    `${what} holds ${found.map(show).join(', ') || 'nothing'}; expected exactly one of ${expected.join(', ')}`,
  )
}

function listIn(members: Members, name: string): readonly unknown[] {
  const value = memberOf(members, name)
  if (!Array.isArray(value) || value.length === 0) {
    throw refusal(
      'invalid_body',
      `"${name}" in the body is ${describe(value)}; expected a list of at least one object`,
    )
  }
  return value
}

function objectOf(value: unknown, what: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refusal('invalid_body', `"${what}" in the body is ${describe(value)}; expected an object`)
  }
  for (const name of Object.keys(value)) assertSpelling(name)
  return value as Members
}
