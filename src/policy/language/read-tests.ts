import { anonymousPrincipal, authenticationMethods, type Principal } from '../../identity/principal.ts'
import { assertIdentifier, type Identifier } from '../../catalog-api/identifiers.ts'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import type { StatedFacts } from '../../catalog-api/facts.ts'
import { isInNamespace } from '../../catalog-api/object-kinds.ts'
import type { ObjectKind } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { readTime, readJsonObject, readTextMap } from './read-values.ts'
import type { DecisionTest } from '../testing/decision-test.ts'
import { conditionFacts, createStatedFacts, describeUnstatedFact } from './stated-facts.ts'
import { callerFields, requestFields, testFields } from './policy-fields.ts'
import { objectKindOfPermission } from '../engine/object-position.ts'
import { permissionFacts } from '../conditions/permission-facts.ts'
import type { AuthorizationRequest, RequestFacts } from '../conditions/authorization-request.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { readIdentifier, readPermissions } from './read-rule.ts'
import {
  anyText,
  createChoiceReader,
  createFieldsReader,
  readItems,
  readNonEmptyTexts,
  readOptional,
  readText,
  readTexts,
  readTrue,
  type Field,
  type Fields,
  type ReportProblem,
} from './field.ts'

const readTestFields = createFieldsReader(testFields)
const readCallerFields = createFieldsReader(callerFields)
const readStatedFields = createFieldsReader(requestFields)
const readExpectation = createChoiceReader(['allow', 'deny'])
const readMethod = createChoiceReader(authenticationMethods)

/** Defaults of the requests of tests. Constant, because tests that depend on the current date would fail some day. */
export const defaultRequestFacts: RequestFacts = {
  clientAddress: '192.0.2.1',
  now: new Date('2026-01-01T00:00:00Z'),
  context: new Map(),
}

type TestLocation = Pick<DecisionTest, 'document' | 'file'>

/** Reads a list of tests. Reports all errors. `lineOf` returns the line of an offset. */
export function readTests(
  field: Field,
  location: TestLocation,
  lineOf: (offset: number) => number,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): readonly DecisionTest[] {
  const items = readItems(field, '[{ as, operations, table, expect }]', report) ?? []
  return items.flatMap(
    (item) => readTest(item, { ...location, line: lineOf(item.offset) }, report, vocabulary) ?? [],
  )
}

function readTest(
  field: Field,
  location: TestLocation & { line: number },
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): DecisionTest | undefined {
  const fields = readTestFields(field, report)
  if (fields === undefined) return undefined
  const expect = readExpectation(fields.get('expect'), report)
  const beneath = readOptional(fields, 'beneath', readTrue, report) ?? false
  const object = readObject(field, fields, report, vocabulary)
  const caller = readOptional(fields, 'as', readCaller, report) ?? defaultCaller
  const permissions = readPermissions(fields.get('operations'), report, vocabulary)
  const given = readOptional(fields, 'given', readStatedFields, report)
  const request = given === undefined ? defaultRequestFacts : readRequestFacts(given, report)
  const stated = given === undefined ? {} : readStatedFacts(given, report, vocabulary)
  if (given !== undefined) checkStatedFacts(given, permissions, report)
  if (expect === undefined || object === undefined) return undefined
  if (beneath && object.field !== 'namespace') {
    report(fields.get('beneath').offset, `${fields.get('beneath').name} is allowed only with "namespace"`)
  }
  if (!beneath) checkObjectKinds(fields.get('operations'), object.field, report, vocabulary)
  const requests = [...permissions].flatMap((permission): AuthorizationRequest[] => {
    if (!beneath && objectFieldFor(permission) !== object.field) return []
    const kind: ObjectKind = beneath ? 'namespace' : objectKindOfPermission(permission)
    const operation = permissionFacts(permission, object.id, stated, beneath)
    return [{ principal: caller, permission, kind, id: object.id, request, operation }]
  })
  if (requests.length === 0 && permissions.size > 0) {
    report(
      fields.get('operations').offset,
      `${fields.get('operations').name}: none of them applies to a ${object.field}`,
    )
  }
  const sends = readOptional(fields, 'sends', readText, report)
  const columns = readOptional(
    fields,
    'columns',
    (item) => readNonEmptyTexts(item, '[id, person.city]', report, anyText),
    report,
  )
  for (const field of [fields.get('sends'), fields.get('columns')]) {
    if (field.node !== undefined && expect === 'deny')
      report(field.offset, `${field.name} is for "expect: allow": a denied request is not sent`)
  }
  return {
    name: readOptional(fields, 'name', readText, report) ?? '',
    ...location,
    requests,
    beneath,
    expect,
    rule: readOptional(fields, 'rule', readText, report),
    sends,
    columns,
  }
}

const objectFields = ['namespace', 'table', 'transaction'] as const
type ObjectField = (typeof objectFields)[number]

interface NamedObject {
  readonly field: ObjectField
  readonly id: Identifier
}

function readObject(
  test: Field,
  fields: Fields<ObjectField>,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): NamedObject | undefined {
  const [field, ...more] = objectFields.filter((name) => fields.has(name))
  if (field === undefined || more.length > 0) {
    const found = field === undefined ? 'names no object' : `names ${[field, ...more].join(' and ')}`
    report(test.offset, `${test.name} ${found}; expected exactly one of ${objectFields.join(', ')}`)
    return undefined
  }
  let isValid = true
  const reportName: ReportProblem = (offset, message) => {
    isValid = false
    report(offset, message)
  }
  const id = readIdentifier(fields.get(field), reportName, vocabulary)
  if (!isValid) return undefined
  if (field !== 'namespace' && id.length === 0) {
    report(
      fields.get(field).offset,
      `${fields.get(field).name} is empty; expected its namespace and its name`,
    )
  }
  if (field === 'transaction' && id.length === 1) {
    report(
      fields.get(field).offset,
      `${fields.get(field).name} names no table; expected the id of the table and the transaction`,
    )
  }
  try {
    return { field, id: assertIdentifier(id) }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    report(fields.get(field).offset, `${fields.get(field).name}: ${error.message}`)
    return undefined
  }
}

/** Members of a group that do not apply to the object are skipped; an operation that is named must apply to it. */
function checkObjectKinds(
  operations: Field,
  field: ObjectField,
  report: ReportProblem,
  { permissions }: PolicyVocabulary,
): void {
  for (const item of readItems(operations, '', () => undefined) ?? []) {
    const name = item.node?.kind === 'scalar' ? item.node.value : undefined
    const permission = permissions.names.find((candidate) => candidate === name)
    if (permission === undefined || objectFieldFor(permission) === field) continue
    report(
      item.offset,
      `${item.name}: ${permission} does not apply to a ${field}; expected "${objectFieldFor(permission)}"`,
    )
  }
}

function objectFieldFor(permission: Permission): ObjectField {
  const kind = objectKindOfPermission(permission)
  if (kind === 'transaction') return kind
  return isInNamespace(kind) ? 'table' : 'namespace'
}

const defaultCaller: Principal = { name: 'somebody', method: 'api-key', groups: new Set(), credentialId: '' }

function readCaller(field: Field, report: ReportProblem): Principal | undefined {
  const fields = readCallerFields(field, report)
  if (fields === undefined) return undefined
  if (readOptional(fields, 'anonymous', readTrue, report) === true) {
    const isSole = field.node?.kind === 'map' && field.node.entries.length === 1
    if (!isSole) report(field.offset, `${field.name} must not describe an anonymous caller further`)
    return anonymousPrincipal
  }
  const claims = readOptional(fields, 'claims', readClaims, report)
  const issuer = readOptional(fields, 'issuer', readText, report)
  const method = readOptional(fields, 'method', readMethod, report)
  const groups = readOptional(fields, 'groups', readGroups, report)
  return {
    name: readOptional(fields, 'user', readText, report) ?? defaultCaller.name,
    method: method ?? (claims === undefined && issuer === undefined ? 'api-key' : 'token'),
    groups: new Set(groups),
    credentialId: readOptional(fields, 'key', readText, report) ?? '',
    ...(issuer !== undefined && { issuer }),
    ...(claims !== undefined && { claims }),
  }
}

function readClaims(field: Field, report: ReportProblem): Readonly<Record<string, unknown>> | undefined {
  const claims = readJsonObject(field, report)
  if (claims !== undefined) return claims
  report(field.offset, `${field.name} is not a map; expected claims, such as { amr: [mfa] }`)
  return undefined
}

function readGroups(field: Field, report: ReportProblem): readonly string[] {
  return readTexts(field, '[sales]', report, anyText)
}

type StatedFields = Fields<keyof typeof requestFields>

function readRequestFacts(stated: StatedFields, report: ReportProblem): RequestFacts {
  const now = readOptional(stated, 'now', readTime, report)
  return {
    clientAddress: readOptional(stated, 'address', readText, report) ?? defaultRequestFacts.clientAddress,
    now: now === undefined ? defaultRequestFacts.now : new Date(now),
    context: readOptional(stated, 'context', readTextMap, report) ?? defaultRequestFacts.context,
  }
}

/** Facts that the operation does not have are ignored. */
function readStatedFacts(
  stated: StatedFields,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): StatedFacts {
  const text = (name: keyof typeof requestFields): string | undefined =>
    readOptional(stated, name, readText, report)
  const map = (name: keyof typeof requestFields): ReadonlyMap<string, string> | undefined =>
    readOptional(stated, name, readTextMap, report)
  const destination = readOptional(
    stated,
    'destination',
    (field) => readIdentifier(field, report, vocabulary),
    report,
  )
  return createStatedFacts({
    mode: text('mode'),
    behavior: text('behavior'),
    branch: text('branch'),
    tag: text('tag'),
    location: text('location'),
    manifestPath: text('manifestPath'),
    destination,
    metadata: map('metadata'),
    properties: map('properties'),
  })
}

/** Reports facts, modes and behaviors that no request for any of the operations states: the test would not test what it says. */
function checkStatedFacts(
  stated: StatedFields,
  permissions: ReadonlySet<Permission>,
  report: ReportProblem,
): void {
  if (permissions.size === 0) return
  for (const fact of conditionFacts) {
    if (!stated.has(fact)) continue
    const { node, offset, name } = stated.get(fact)
    const text = node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined
    const error = describeUnstatedFact(fact, text, permissions)
    if (error !== undefined) report(offset, `${name}: ${error}`)
  }
}
