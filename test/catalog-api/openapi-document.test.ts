import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, it } from 'vitest'
import { getOpenApiDocument } from '../../src/catalog-api/openapi/openapi-document.ts'
import { getOperation, operationNames } from '../../src/catalog-api/operations.ts'
import { operationSchemas } from '../../src/catalog-api/schemas/operation-schemas.ts'

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

/** Operations without request and response schemas: the reference catalog does not implement them. */
const plain = ['AlterTableBackfillColumns', 'RefreshMaterializedView', 'CreateMaterializedView']

it('the document is valid OpenAPI 3.1 without dangling references', async () => {
  const validator = new Validator()
  expect(await validator.validate(read())).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
  validator.resolveRefs()
  expect(getOpenApiDocument()).not.toContain('#/$defs/')
})

it('the document lists exactly the served operations, paths and methods', () => {
  const expected = operationNames.flatMap((name) => {
    const { method, alsoGet, path, aliases } = getOperation(name)
    const routes = [path, ...aliases].map((route) => `${method} ${route}`)
    return alsoGet ? [...routes, `GET ${path}`] : routes
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

it('only operations missing from the reference catalog are described as plain objects', () => {
  expect(operationNames.filter((name) => !(name in operationSchemas)).toSorted()).toEqual(plain.toSorted())
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
  expect(errors).toEqual(expect.arrayContaining([...operation.errors, ...everywhere]))
})

it('modes are listed by name', () => {
  expect(JSON.stringify(read().components.schemas['DropNamespaceRequest'])).toContain(
    'One of Restrict, Cascade',
  )
})
