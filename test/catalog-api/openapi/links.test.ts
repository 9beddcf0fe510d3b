import { expect, it } from 'vitest'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { getOperation, isOperationName } from '../../../src/catalog-api/operations.ts'

interface Link {
  readonly operationId: string
  readonly parameters?: Readonly<Record<string, string>>
}

interface Document {
  readonly paths: Record<
    string,
    Record<string, { operationId: string; responses: Record<string, { links?: Record<string, Link> }> }>
  >
}

const { paths } = JSON.parse(getOpenApiDocument()) as Document
const links = Object.values(paths)
  .flatMap((item) => Object.values(item))
  .flatMap(({ operationId, responses }) =>
    Object.values(responses).flatMap((response) =>
      Object.values(response.links ?? {}).map((link) => [operationId, link] as const),
    ),
  )

it('every link leads to an operation and states its path parameters, without a body', () => {
  expect(links.length).toBeGreaterThan(20)
  for (const [from, { operationId, parameters, ...others }] of links) {
    if (!isOperationName(operationId)) throw new Error(`${from} links to ${operationId}`)
    const { path } = getOperation(operationId)
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect(Object.keys(parameters ?? {})).toEqual(expect.arrayContaining(inPath))
    expect(others).toEqual({})
  }
})
