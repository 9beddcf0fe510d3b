import type { z } from 'zod'
import { anonymousPrincipal, type Principal } from '../../identity/index.ts'
import { assertIdentifier, type Identifier } from '../../catalog-api/identifiers.ts'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import type { StatedFacts } from '../../catalog-api/facts.ts'
import { isInNamespace } from '../../catalog-api/requirements.ts'
import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { getMembers } from '../../lib/json/json-values.ts'
import { parseTimestamp } from '../../lib/time.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import { conditionFacts, createStatedFacts, describeUnstatedFact } from './stated-facts.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import { permissionFacts } from '../conditions/permission-facts.ts'
import type { AuthorizationRequest, RequestFacts } from '../conditions/authorization-request.ts'
import { yamlAlias } from './located-yaml.ts'
import type { Lenient, Place } from './place.ts'
import type { testSchema } from './test-schema.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { readIdentifier, readPermissions } from './read-names.ts'

/** Defaults of the requests of tests. Constant, because tests that depend on the current date would fail some day. */
export const defaultRequestFacts: RequestFacts = {
  clientAddress: '192.0.2.1',
  now: new Date('2026-01-01T00:00:00Z'),
  context: new Map(),
}

type WrittenTest = Lenient<z.output<typeof testSchema>>

/** Reads a test. Reports all errors in it. */
export function readTest(
  place: Place,
  test: WrittenTest,
  location: Pick<DecisionTest, 'document' | 'file'>,
  vocabulary: PolicyVocabulary,
): DecisionTest | undefined {
  const { beneath = false, expect, given, sends } = test
  const object = readObject(place, test, vocabulary)
  const caller = test.as === undefined ? defaultCaller : readCaller(place.at('as'), test.as)
  const operations = place.at('operations')
  const permissions = readPermissions(operations, test.operations, vocabulary)
  const stated = given === undefined ? {} : readStatedFacts(place.at('given'), given, vocabulary)
  if (given !== undefined) checkStatedFacts(place.at('given'), given, permissions)
  if (expect === undefined || object === undefined) return undefined
  if (beneath && object.field !== 'namespace') place.at('beneath').report(' is allowed only with "namespace"')
  if (!beneath) checkObjectKinds(operations, test.operations, object.field, vocabulary)
  const requests = [...permissions].flatMap((permission): AuthorizationRequest[] => {
    if (!beneath && objectFieldFor(permission) !== object.field) return []
    const kind: ObjectKind = beneath ? 'namespace' : objectKindOfPermission(permission)
    const operation = permissionFacts(permission, object.id, stated, beneath)
    const request = given === undefined ? defaultRequestFacts : readRequestFacts(given)
    return [{ principal: caller, permission, kind, id: object.id, request, operation }]
  })
  if (requests.length === 0 && permissions.size > 0)
    operations.report(`: none of them applies to a ${object.field}`)
  for (const name of ['sends', 'columns'] as const)
    if (name in test && expect === 'deny')
      place.at(name).report(' is for "expect: allow": a denied request is not sent')
  return {
    name: test.name ?? '',
    ...location,
    line: place.position.line,
    requests,
    beneath,
    expect,
    rule: test.rule,
    sends,
    columns: test.columns?.filter((column) => column !== undefined),
  }
}

const objectFields = ['namespace', 'table', 'transaction'] as const
type ObjectField = (typeof objectFields)[number]

interface NamedObject {
  readonly field: ObjectField
  readonly id: Identifier
}

function readObject(place: Place, test: WrittenTest, vocabulary: PolicyVocabulary): NamedObject | undefined {
  const [field, ...more] = objectFields.filter((name) => name in test)
  if (field === undefined || more.length > 0) {
    const found = field === undefined ? 'names no object' : `names ${[field, ...more].join(' and ')}`
    place.report(` ${found}; expected exactly one of ${objectFields.join(', ')}`)
    return undefined
  }
  const item = place.at(field)
  const id = readIdentifier(item, test[field], vocabulary)
  if (item.isFaulty) return undefined
  if (field !== 'namespace' && id.length === 0) item.report(' is empty; expected its namespace and its name')
  if (field === 'transaction' && id.length === 1)
    item.report(' names no table; expected the id of the table and the transaction')
  try {
    return { field, id: assertIdentifier(id) }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    item.report(`: ${error.message}`)
    return undefined
  }
}

/** Members of a group that do not apply to the object are skipped; an operation that is named must apply to it. */
function checkObjectKinds(
  place: Place,
  operations: WrittenTest['operations'] = [],
  field: ObjectField,
  { permissions }: PolicyVocabulary,
): void {
  for (const [index, name] of operations.entries()) {
    const permission = permissions.names.find((candidate) => candidate === name)
    if (permission === undefined || objectFieldFor(permission) === field) continue
    place
      .at(index)
      .report(`: ${permission} does not apply to a ${field}; expected "${objectFieldFor(permission)}"`)
  }
}

function objectFieldFor(permission: Permission): ObjectField {
  const kind = objectKindOfPermission(permission)
  if (kind === 'transaction') return kind
  return isInNamespace(kind) ? 'table' : 'namespace'
}

const defaultCaller: Principal = { name: 'somebody', method: 'api-key', groups: new Set(), credentialId: '' }

function readCaller(place: Place, caller: NonNullable<WrittenTest['as']>): Principal {
  const { anonymous, claims, issuer, method, user, groups = [], key } = caller
  if (anonymous === true) {
    if (Object.keys(caller).length > 1) place.report(' must not describe an anonymous caller further')
    return anonymousPrincipal
  }
  if (claims !== undefined) checkClaims(place.at('claims'), claims)
  return {
    name: user ?? defaultCaller.name,
    method: method ?? (claims === undefined && issuer === undefined ? 'api-key' : 'token'),
    groups: new Set(groups.filter((group) => group !== undefined)),
    credentialId: key ?? '',
    ...(issuer !== undefined && { issuer }),
    ...(claims !== undefined && { claims }),
  }
}

/** Reports aliases, which are not followed, at any depth. */
function checkClaims(place: Place, claims: unknown): void {
  if (claims === yamlAlias) place.report(' is an alias, which is not followed')
  else if (Array.isArray(claims))
    for (const [index, claim] of claims.entries()) checkClaims(place.at(index), claim)
  else for (const [key, claim] of Object.entries(getMembers(claims))) checkClaims(place.at(key), claim)
}

type GivenFacts = NonNullable<WrittenTest['given']>

function readRequestFacts({ address, now, context }: GivenFacts): RequestFacts {
  return {
    clientAddress: address ?? defaultRequestFacts.clientAddress,
    now: now === undefined ? defaultRequestFacts.now : new Date(parseTimestamp(now)),
    context: toMap(context) ?? defaultRequestFacts.context,
  }
}

/** Facts that the operation does not have are ignored. */
function readStatedFacts(place: Place, given: GivenFacts, vocabulary: PolicyVocabulary): StatedFacts {
  const {
    address: _address,
    now: _now,
    context: _context,
    destination,
    metadata,
    properties,
    ...texts
  } = given
  return createStatedFacts({
    ...texts,
    destination: destination && readIdentifier(place.at('destination'), destination, vocabulary),
    metadata: toMap(metadata),
    properties: toMap(properties),
  })
}

function toMap(texts: GivenFacts['context']): ReadonlyMap<string, string> | undefined {
  return (
    texts &&
    new Map(Object.entries(texts).flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])))
  )
}

/** Reports facts, modes and behaviors that no request for any of the operations states: the test would not test what it says. */
function checkStatedFacts(place: Place, given: GivenFacts, permissions: ReadonlySet<Permission>): void {
  if (permissions.size === 0) return
  for (const fact of conditionFacts) {
    if (!(fact in given)) continue
    const value = given[fact]
    const error = describeUnstatedFact(fact, typeof value === 'string' ? value : undefined, permissions)
    if (error !== undefined) place.at(fact).report(`: ${error}`)
  }
}
