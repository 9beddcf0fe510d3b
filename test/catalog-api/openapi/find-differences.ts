import { getMembers, isObject } from '../../../src/lib/json/json-values.ts'

/** Facts about the public OpenAPI document. Types are texts such as `integer`, `string[]`, `map of string`, `TableVersion`. */
export interface PublicInterface {
  readonly operations: Readonly<Record<string, PublicOperation>>
  readonly schemas: Readonly<Record<string, PublicSchema>>
}

interface PublicOperation {
  readonly method: string
  readonly path: string
  readonly query: readonly string[]
  /** Query parameters that may be repeated. */
  readonly repeated: readonly string[]
  readonly request: string | null
  readonly status: number
  readonly response: string | null
}

interface PublicSchema {
  readonly members: Readonly<Record<string, string>>
  readonly required: readonly string[]
}

type Json = Readonly<Record<string, unknown>>

/**
 * Lists how a served OpenAPI document differs from the public one in the operations that both have, as texts such as
 * `QueryTableRequest.order_by: unknown to the public document`. Schemas are compared by their use: that of the body of
 * an operation with that of the same body, and their members with each other.
 */
export function findDifferences(served: Json, { operations, schemas }: PublicInterface): string[] {
  const differences = new Set<string>()
  const compared = new Set<string>()
  const component = (kind: string, reference: unknown): Json =>
    getMembers(getMembers(getMembers(served['components'])[kind])[String(reference).split('/').at(-1) ?? ''])

  for (const [name, expected] of Object.entries(operations)) compareOperation(name, expected)
  return [...differences].toSorted()

  function compareOperation(name: string, expected: PublicOperation): void {
    const item = getMembers(getMembers(served['paths'])[expected.path])
    const operation = getMembers(item[expected.method.toLowerCase()])
    compareValues(name, 'operationId', operation['operationId'], name)
    const parameters = (operation['parameters'] as readonly Json[]).map((parameter) =>
      '$ref' in parameter ? component('parameters', parameter['$ref']) : parameter,
    )
    const inQuery = parameters.filter((parameter) => parameter['in'] === 'query')
    compareNames(
      `${name}?`,
      inQuery.map((parameter) => String(parameter['name'])),
      expected.query,
    )
    for (const parameter of inQuery) {
      const isRepeated = getMembers(parameter['schema'])['type'] === 'array'
      const parameterName = String(parameter['name'])
      if (expected.query.includes(parameterName))
        compareValues(`${name}?`, parameterName, isRepeated, expected.repeated.includes(parameterName))
    }
    const response = getMembers(getMembers(operation['responses'])[String(expected.status)])
    if (Object.keys(response).length === 0) differences.add(`${name}: no status ${expected.status}`)
    compareBody(name, 'request', getMembers(operation['requestBody']), expected.request)
    compareBody(name, 'response', response, expected.response)
  }

  function compareBody(name: string, part: string, { content }: Json, expected: string | null): void {
    const [media] = Object.values(getMembers(content))
    if (media === undefined || expected === null) {
      compareValues(name, part, media === undefined ? null : 'a body', expected)
      return
    }
    compareType(`${name} ${part}`, getMembers(getMembers(media)['schema']), expected)
  }

  function compareType(where: string, schema: Json, expected: string): void {
    const list = /^(.*)\[\]$/.exec(expected)?.[1]
    const values = /^map of (.*)$/.exec(expected)?.[1]
    if (list !== undefined && schema['type'] === 'array')
      compareType(where, getMembers(schema['items']), list)
    else if (values !== undefined && isObject(schema['additionalProperties']))
      compareType(where, schema['additionalProperties'], values)
    else if ('$ref' in schema && schemas[expected] === undefined)
      compareType(where, component('schemas', schema['$ref']), expected)
    else if (schemas[expected] !== undefined) compareObjects(where, schema, expected, schemas[expected])
    else compareValues(where, 'type', formatType(schema), expected)
  }

  function compareObjects(where: string, schema: Json, name: string, expected: PublicSchema): void {
    const { $ref } = schema
    const key = `${name} ${JSON.stringify(schema)}`
    if (compared.has(key)) return
    compared.add(key)
    const resolved = $ref === undefined ? schema : component('schemas', $ref)
    const members = getMembers(resolved['properties'])
    if (Object.keys(members).length === 0 && Object.keys(expected.members).length > 0) {
      differences.add(`${where}: no members; expected ${name}`)
      return
    }
    compareNames(`${name}.`, Object.keys(members), Object.keys(expected.members))
    compareNames(`required ${name}.`, (resolved['required'] as string[] | undefined) ?? [], expected.required)
    for (const [member, type] of Object.entries(expected.members))
      if (isObject(members[member])) compareType(`${name}.${member}`, members[member], type)
  }

  function compareNames(where: string, found: readonly string[], expected: readonly string[]): void {
    for (const name of found) if (!expected.includes(name)) differences.add(`${where}${name}: only served`)
    for (const name of expected) if (!found.includes(name)) differences.add(`${where}${name}: only public`)
  }

  function compareValues(where: string, what: string, found: unknown, expected: unknown): void {
    if (found !== expected) differences.add(`${where} ${what}: ${String(found)}, public ${String(expected)}`)
  }
}

function formatType({ $ref, type, format, items, additionalProperties }: Json): string {
  if (typeof $ref === 'string') return $ref.split('/').at(-1) ?? ''
  if (type === 'array') return `${formatType(getMembers(items))}[]`
  if (format === 'binary') return 'binary'
  if (isObject(additionalProperties)) return `map of ${formatType(additionalProperties)}`
  if (Array.isArray(type)) return String(type[0])
  return typeof type === 'string' ? type : 'any'
}
