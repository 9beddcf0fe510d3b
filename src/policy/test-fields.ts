import { anonymousPrincipal, authenticationMethods, type Principal } from '../identity/principal.ts'
import { assertIdentifier, type Identifier } from '../interface/identifiers.ts'
import { InterfaceError } from '../interface/errors.ts'
import { withoutAbsent, type StatedFacts } from '../interface/facts.ts'
import type { ObjectKind } from '../interface/operations.ts'
import { permissionNames, type Permission } from '../interface/permissions.ts'
import { timeOf } from './commit-fields.ts'
import type { DecisionTest } from './decision-test.ts'
import { conditionFacts, faultOfFact } from './fact-faults.ts'
import { jsonOf, textMapOf } from './json-fields.ts'
import { callerFields, givenFields, testFields } from './language.ts'
import { kindOf } from './object-kind.ts'
import { factsOfPermission } from './operation-facts.ts'
import type { Question, RequestFacts } from './question.ts'
import { permissionsOf } from './rule-fields.ts'
import {
  anyText,
  choiceReader,
  fieldsReader,
  itemsOf,
  optional,
  readTrue,
  textOf,
  textsOf,
  type Field,
  type Fields,
  type Report,
} from './yaml-fields.ts'

const readTest = fieldsReader(testFields)
const readCaller = fieldsReader(callerFields)
const readGiven = fieldsReader(givenFields)
const readExpectation = choiceReader(['allow', 'deny'])
const readMethod = choiceReader(authenticationMethods)

/** What a request of a test says where the test does not. It never depends on the day: tests would come to fail. */
export const unsaid: RequestFacts = {
  clientAddress: '192.0.2.1',
  now: new Date('2026-01-01T00:00:00Z'),
  context: new Map(),
}

/** Where a test stands. */
type Place = Pick<DecisionTest, 'document' | 'file'>

/** The tests of a list; every fault is reported. `lineOf` answers in which line something begins. */
export function testsOf(
  field: Field,
  place: Place,
  lineOf: (offset: number) => number,
  report: Report,
): readonly DecisionTest[] {
  const items = itemsOf(field, '[{ as, operations, table, expect }]', report) ?? []
  return items.flatMap((item) => testOf(item, { ...place, line: lineOf(item.offset) }, report) ?? [])
}

function testOf(field: Field, place: Place & { line: number }, report: Report): DecisionTest | undefined {
  const fields = readTest(field, report)
  if (fields === undefined) return undefined
  const expect = readExpectation(fields.of('expect'), report)
  const beneath = optional(fields, 'beneath', readTrue, report) ?? false
  const object = objectOf(field, fields, report)
  const caller = optional(fields, 'as', callerOf, report) ?? stranger
  const permissions = permissionsOf(fields.of('operations'), report)
  const given = optional(fields, 'given', readGiven, report)
  const request = given === undefined ? unsaid : requestOf(given, report)
  const stated = given === undefined ? {} : statedIn(given, report)
  if (given !== undefined) assertFacts(given, permissions, report)
  if (expect === undefined || object === undefined) return undefined
  if (beneath && object.field !== 'namespace') {
    report(fields.of('beneath').offset, `${fields.of('beneath').name} is allowed only with "namespace"`)
  }
  assertKinds(fields.of('operations'), object.field, beneath, report)
  const questions = [...permissions].flatMap((permission): Question[] => {
    if (!beneath && fieldFor(permission) !== object.field) return []
    const kind: ObjectKind = beneath ? 'namespace' : kindOf(permission)
    const operation = factsOfPermission(permission, object.id, stated, beneath)
    return [{ principal: caller, permission, kind, id: object.id, request, operation }]
  })
  if (questions.length === 0 && permissions.size > 0) {
    report(
      fields.of('operations').offset,
      `${fields.of('operations').name}: none of them applies to a ${object.field}`,
    )
  }
  return {
    name: optional(fields, 'name', textOf, report) ?? '',
    ...place,
    questions,
    beneath,
    expect,
    rule: optional(fields, 'rule', textOf, report),
  }
}

const objectFields = ['namespace', 'table', 'transaction'] as const
type ObjectField = (typeof objectFields)[number]

interface NamedObject {
  readonly field: ObjectField
  readonly id: Identifier
}

function objectOf(test: Field, fields: Fields<ObjectField>, report: Report): NamedObject | undefined {
  const [field, ...more] = objectFields.filter((name) => fields.has(name))
  if (field === undefined || more.length > 0) {
    const found = field === undefined ? 'names no object' : `names ${[field, ...more].join(' and ')}`
    report(test.offset, `${test.name} ${found}; expected exactly one of ${objectFields.join(', ')}`)
    return undefined
  }
  const id = textsOf(fields.of(field), '[prod, sales]', report, anyText)
  if (field !== 'namespace' && id.length === 0) {
    report(fields.of(field).offset, `${fields.of(field).name} is empty; expected its namespace and its name`)
  }
  try {
    return { field, id: assertIdentifier(id) }
  } catch (error) {
    if (!(error instanceof InterfaceError)) throw error
    report(fields.of(field).offset, `${fields.of(field).name}: ${error.message}`)
    return undefined
  }
}

/** Of a group only what fits the object is asked; an operation that is named must fit. */
function assertKinds(operations: Field, field: ObjectField, beneath: boolean, report: Report): void {
  if (beneath) return
  for (const item of itemsOf(operations, '', () => undefined) ?? []) {
    const name = item.node?.kind === 'scalar' ? item.node.value : undefined
    const permission = permissionNames.find((candidate) => candidate === name)
    if (permission === undefined || fieldFor(permission) === field) continue
    report(
      item.offset,
      `${item.name}: ${permission} does not apply to a ${field}; expected "${fieldFor(permission)}"`,
    )
  }
}

function fieldFor(permission: Permission): ObjectField {
  const kind = kindOf(permission)
  if (kind === 'transaction') return kind
  return kind === 'namespace' || kind === 'none' ? 'namespace' : 'table'
}

const stranger: Principal = { name: 'somebody', method: 'api-key', groups: new Set(), credentialId: '' }

function callerOf(field: Field, report: Report): Principal | undefined {
  const fields = readCaller(field, report)
  if (fields === undefined) return undefined
  if (optional(fields, 'anonymous', readTrue, report) === true) {
    const isSole = field.node?.kind === 'map' && field.node.entries.length === 1
    if (!isSole) report(field.offset, `${field.name} must not describe an anonymous caller further`)
    return anonymousPrincipal
  }
  const claims = optional(fields, 'claims', claimsOf, report)
  const issuer = optional(fields, 'issuer', textOf, report)
  const method = optional(fields, 'method', readMethod, report)
  const groups = optional(fields, 'groups', groupsOf, report)
  return {
    name: optional(fields, 'user', textOf, report) ?? stranger.name,
    method: method ?? (claims === undefined && issuer === undefined ? 'api-key' : 'token'),
    groups: new Set(groups),
    credentialId: optional(fields, 'key', textOf, report) ?? '',
    ...(issuer !== undefined && { issuer }),
    ...(claims !== undefined && { claims }),
  }
}

function claimsOf(field: Field, report: Report): Readonly<Record<string, unknown>> | undefined {
  if (field.node?.kind === 'map') return jsonOf(field, report) as Readonly<Record<string, unknown>>
  report(field.offset, `${field.name} is not a map; expected claims, such as { amr: [mfa] }`)
  return undefined
}

function groupsOf(field: Field, report: Report): readonly string[] {
  return textsOf(field, '[sales]', report, anyText)
}

type Given = Fields<keyof typeof givenFields>

function requestOf(given: Given, report: Report): RequestFacts {
  const now = optional(given, 'now', timeOf, report)
  return {
    clientAddress: optional(given, 'address', textOf, report) ?? unsaid.clientAddress,
    now: now === undefined ? unsaid.now : new Date(now),
    context: optional(given, 'context', textMapOf, report) ?? unsaid.context,
  }
}

/** The facts that a test states; those of its operations alone count. */
function statedIn(given: Given, report: Report): StatedFacts {
  const text = (name: keyof typeof givenFields): string | undefined => optional(given, name, textOf, report)
  const map = (name: keyof typeof givenFields): ReadonlyMap<string, string> | undefined =>
    optional(given, name, textMapOf, report)
  const destination = optional(given, 'destination', destinationOf, report)
  return withoutAbsent({
    mode: text('mode'),
    behavior: text('behavior'),
    branch: text('branch'),
    tag: text('tag'),
    location: text('location'),
    manifestPath: text('manifestPath'),
    newNamespace: destination?.slice(0, -1),
    newName: destination?.at(-1),
    metadata: map('metadata'),
    properties: map('properties'),
  })
}

function destinationOf(field: Field, report: Report): Identifier {
  return textsOf(field, '[b, t]', report, anyText)
}

/** Reports facts that no request for any of the operations states: the test would not say what its author means. */
function assertFacts(given: Given, permissions: ReadonlySet<Permission>, report: Report): void {
  if (permissions.size === 0) return
  for (const fact of conditionFacts) {
    const fault = given.has(fact) ? faultOfFact(fact, permissions) : undefined
    if (fault !== undefined) report(given.of(fact).offset, `${given.of(fact).name}: ${fault}`)
  }
}
