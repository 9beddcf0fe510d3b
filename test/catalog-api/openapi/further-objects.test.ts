import { expect, it } from 'vitest'
import { createExtraOperations } from '../../../src/catalog-api/extra-operation.ts'
import { getOpenApiDocument } from '../../../src/catalog-api/openapi/openapi-document.ts'
import { readExtraOperations } from '../../gateway/support/extra-operations.ts'

it('members of an extra operation that hold ids are described', () => {
  const extraOperations = readExtraOperations([
    { name: 'CopyTable', path: '/v1/table/{id}/copy', idMembers: { target_table: 'CreateTable' } },
  ])
  const document = getOpenApiDocument('', createExtraOperations([{ extraOperations }]))
  expect(JSON.parse(document)).toMatchObject({
    components: {
      schemas: {
        CopyTableRequest: {
          type: 'object',
          properties: {
            target_table: {
              type: 'array',
              items: { type: 'string' },
              minItems: 1,
              description: 'The id of an object on which CreateTable must be allowed.',
            },
          },
        },
      },
    },
  })
})
