import { expect, it } from 'vitest'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { getRequirements } from '../../../src/catalog-api/requirements.ts'

interface Document {
  readonly info: { readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly description: string }>>>>
}

const { info, paths } = JSON.parse(getOpenApiDocument()) as Document

it('every operation says which permissions its requests need, and for which parts', () => {
  for (const name of operationNames) {
    const operation = getOperation(name)
    const description = paths[operation.path]?.[operation.method.toLowerCase()]?.description
    expect(description).toContain(`Needs the permission ${name}, `)
    for (const { permission, requiredBy } of getRequirements(operation)) {
      const line = description?.split('\n').find((text) => text.includes(`${permission} on `))
      expect(line, `${permission} for ${name}`).toBeDefined()
      expect(description).toContain(requiredBy)
    }
  }
})

it('an operation names the part of a request that needs more', () => {
  const { description } = paths['/v1/table/{id}/create']?.['post'] ?? {}
  expect(description).toContain('- For mode=overwrite: OverwriteTable on the same object.')
})

it('the document says how to get and send a key', () => {
  expect(info.description).toContain('x-api-key')
  expect(info.description).toContain('catalog-gateway keys create')
})
