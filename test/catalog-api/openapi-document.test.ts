import { readFile } from 'node:fs/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, it } from 'vitest'
import { getOpenApiDocument } from '../../src/catalog-api/openapi/openapi-document.ts'
import { getOperation, operationNames } from '../../src/catalog-api/operations.ts'
import { printOperationSchemas } from './operation-schemas.ts'

interface Described {
  readonly operationId: string
  readonly parameters: readonly { readonly name?: string; readonly $ref?: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> }
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

/** A new copy for each test: the validator modifies its input. */
const read = () => JSON.parse(getOpenApiDocument()) as Document & Record<string, unknown>

it('the document is valid OpenAPI 3.1 without dangling references', async () => {
  const validator = new Validator()
  expect(await validator.validate(read())).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
  validator.resolveRefs()
  expect(getOpenApiDocument()).not.toContain('#/$defs/')
})

it('the document lists exactly the served operations, paths and methods', () => {
  const expected = operationNames.flatMap((name) => {
    const { method, methods, path, aliases } = getOperation(name)
    return [...methods.map((one) => `${one} ${path}`), ...aliases.map((alias) => `${method} ${alias}`)]
  })
  const found = Object.entries(read().paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(found.toSorted()).toEqual(expected.toSorted())
  const ids = Object.values(read().paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  )
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual(expect.arrayContaining([...operationNames]))
})

it('the schemas are those by which the catalog checks (printed by npm run schema)', async () => {
  const file = await readFile(new URL('../../src/catalog-api/schemas.json', import.meta.url), 'utf8')
  expect(JSON.parse(file)).toEqual(JSON.parse(printOperationSchemas()))
})

it.each([...operationNames])('%s has its parameters, body, response and errors', (name) => {
  const operation = getOperation(name)
  const described = read().paths[operation.path]?.[operation.method.toLowerCase()]
  const parameters = described?.parameters.map(({ name, $ref }) => name ?? $ref?.split('/').at(-1))
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
  expect(parameters).toEqual(expect.arrayContaining([...operation.query.keys(), ...inPath]))
  const bodies = {
    json: ['application/json'],
    map: ['application/json'],
    arrow: ['application/vnd.apache.arrow.stream'],
    none: [],
  }
  const schemaTypes = operation.alsoArrowSchema ? ['application/vnd.apache.arrow.stream'] : []
  expect(Object.keys(described?.requestBody?.content ?? {})).toEqual([
    ...bodies[operation.body],
    ...schemaTypes,
  ])
  expect(described?.responses).toHaveProperty(String(operation.status))
  const errors = Object.values(described?.responses ?? {}).flatMap(
    ({ $ref }) => $ref?.split('/').at(-1)?.split('.') ?? [],
  )
  const everywhere = ['Unauthenticated', 'PermissionDenied', 'Unsupported', 'Throttling', 'Internal']
  expect(errors).toEqual(expect.arrayContaining(everywhere))
})

it('modes are listed by name', () => {
  expect(JSON.stringify(read().components.schemas['DropNamespaceRequest'])).toContain(
    'One of Restrict, Cascade',
  )
})

/** Calls `visit` with each schema of the document, at any depth. */
function visitSchemas(value: unknown, visit: (schema: Readonly<Record<string, unknown>>) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) visit(value as Record<string, unknown>)
  for (const member of Object.values(value)) visitSchemas(member, visit)
}

it('schemas contain nothing that generators of clients fail on', () => {
  visitSchemas(read().components.schemas, (schema) => {
    for (const keyword of ['anyOf', 'oneOf', 'allOf', 'prefixItems'])
      expect(schema).not.toHaveProperty(keyword)
    if (schema['type'] === 'integer') expect(schema['format']).toMatch(/^int(32|64)$/)
    if (schema['type'] === 'number') expect(schema['format']).toBe('float')
  })
})

it('null is described only where it differs from absent', () => {
  const nullable: string[] = []
  for (const [name, component] of Object.entries(read().components.schemas)) {
    visitSchemas(component, ({ type }) => {
      if (Array.isArray(type)) nullable.push(name)
    })
  }
  expect(nullable).toEqual(['UpdateFieldMetadataEntry'])
})
