import { expect, it } from 'vitest'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { getMembers, isObject } from '../../../src/lib/json/json-values.ts'

/** Objects without described members, by the reason. */
const deliberatelyEmpty: Readonly<Record<string, readonly string[]>> = {
  'Only the catalog interprets code, types and environments of functions.': [
    'DescribeFunctionResponse.artifact',
    'DescribeFunctionResponse.runtime',
    'DescribeFunctionResponse.signature',
    'FunctionApplication.initialization',
    'FunctionApplication.inputs[].value',
    'FunctionImage.descriptor',
    'FunctionVersion.artifact',
    'FunctionVersion.runtime',
    'FunctionVersion.signature',
    'MaterializedViewUdtfEntry.error_handling',
  ],
  'It depends on the type of the job.': ['DescribeJobResponse.result', 'DescribeJobResponse.spec'],
}

/** Finds schemas that accept any value or any object, by component and members. */
function findEmpty(schema: unknown, where: string): readonly string[] {
  if (!isObject(schema)) return []
  const { $ref, type, properties, additionalProperties: values, items } = getMembers(schema)
  if ($ref !== undefined) return []
  const hasValues = isObject(values) && Object.keys(values).length > 0
  if (type === undefined || (type === 'object' && properties === undefined && !hasValues)) return [where]
  return [
    ...Object.entries(getMembers(properties)).flatMap(([name, member]) =>
      findEmpty(member, `${where}.${name}`),
    ),
    ...(hasValues ? findEmpty(values, `${where}{}`) : []),
    ...(type === 'array' ? findEmpty(items ?? {}, `${where}[]`) : []),
  ]
}

const document = JSON.parse(getOpenApiDocument()) as {
  readonly paths: object
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

it('every object has members or values of a type, except those listed', () => {
  const found = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
    findEmpty(schema, name),
  )
  expect(found.toSorted()).toEqual(Object.values(deliberatelyEmpty).flat().toSorted())
})

it('every body and every parameter has a schema that is not empty', () => {
  const schemas: (readonly [schema: unknown, where: string])[] = []
  const visit = (value: object, where: string): void => {
    for (const [key, member] of Object.entries(value) as [string, unknown][]) {
      if (key === 'schema') schemas.push([member, where])
      else if (key !== 'example' && typeof member === 'object' && member !== null)
        visit(member, `${where}/${key}`)
    }
  }
  visit(document.paths, '')
  expect(schemas.length).toBeGreaterThan(200)
  expect(schemas.flatMap(([schema, where]) => findEmpty(schema, where))).toEqual([])
})
