import { expect, it } from 'vitest'
import { z } from 'zod'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { operationNames } from '../../../src/catalog-api/operations.ts'
import { operationSchemas } from '../../../src/backend/schemas/operation-schemas.ts'
import { requestExamples } from '../request-examples.ts'

interface Content {
  readonly schema: object
  readonly example?: unknown
}

interface Parameter {
  readonly name?: string
  readonly $ref?: string
  readonly required?: boolean
  readonly schema?: object
  readonly example?: unknown
}

interface Described {
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
}

const text = getOpenApiDocument().replaceAll('#/components/schemas/', '#/$defs/')
const { paths, components } = JSON.parse(text) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly parameters: Readonly<Record<string, Parameter>>
  }
}

const binaryTypes = /^application\/(?:octet-stream|vnd\.apache\.arrow\.)/

/** Throws if the example does not match a schema of the document. */
function assertMatches({ schema, example }: Content): void {
  z.fromJSONSchema({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...schema,
    $defs: components.schemas,
  } as never).parse(example)
}

function resolveParameter({ $ref, ...parameter }: Parameter): Parameter {
  return $ref === undefined ? parameter : (components.parameters[$ref.split('/').at(-1) ?? ''] ?? {})
}

const described = Object.entries(paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => [`${method} ${path}`, operation] as const),
)

it.each(described)('%s has examples that match its schemas', (_label, { parameters, requestBody }) => {
  for (const parameter of parameters.map(resolveParameter)) {
    if (parameter.required) expect(parameter).toHaveProperty('example')
    if ('example' in parameter) assertMatches({ schema: parameter.schema ?? {}, example: parameter.example })
  }
  for (const [type, content] of Object.entries(requestBody?.content ?? {})) {
    if (binaryTypes.test(type)) continue
    expect(content).toHaveProperty('example')
    assertMatches(content)
  }
})

it.each([...operationNames])('the example of %s is what its reader accepts', (name) => {
  const { request }: { request: z.ZodType } = operationSchemas[name]
  expect(request.safeParse(requestExamples[name] ?? {}).error).toBe(undefined)
})

it('no example member is unknown to its reader, which would ignore it', () => {
  const names = operationNames.filter((name) => {
    const known: { properties?: object } | undefined = components.schemas[`${name}Request`]
    const members = Object.keys(requestExamples[name] ?? {})
    return known?.properties !== undefined && members.some((member) => !(member in (known.properties ?? {})))
  })
  expect(names).toEqual([])
})
