import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

async function withTable() {
  const backend = await runningBackend()
  await backend.post('/v1/namespace/a/create', {})
  const { json } = await backend.post('/v1/table/a$t/create', streamOf(orders(3)))
  return { ...backend, location: (json as { location: string }).location }
}

it('describes the location of a table and, if requested, its content', async () => {
  const { post, location } = await withTable()
  const plain = { table: 't', namespace: ['a'], location, properties: {}, managed_versioning: true }
  expect(await post('/v1/table/a$t/describe', {})).toEqual(responseOf(plain))
  expect(await post('/v1/table/a$t/describe?with_table_uri=true&load_detailed_metadata=true', {})).toEqual(
    responseOf({
      ...plain,
      table_uri: pathToFileURL(location).href,
      version: 1,
      schema: {
        fields: [
          { name: 'id', type: { type: 'int32' }, nullable: true },
          { name: 'name', type: { type: 'utf8' }, nullable: true },
          expect.objectContaining({ name: 'embedding' }),
        ],
      },
      metadata: {},
      stats: { num_deleted_rows: 0, num_fragments: 1 },
    }),
  )
})

it('never describes main for a branch or a tag', async () => {
  const { post } = await withTable()
  expect(await post('/v1/table/a$t/describe', { branch: 'dev' })).toEqual(errorOf('TableBranchNotFound'))
  expect(await post('/v1/table/a$t/describe', { tag: 'v1' })).toEqual(errorOf('TableTagNotFound'))
  expect((await post('/v1/table/a$t/describe', { branch: 'main' })).status).toBe(200)
  expect((await post('/v1/table/a$t/describe', { branch: null, version: null })).status).toBe(200)
})

it('reports missing objects as not found', async () => {
  const { post } = await withTable()
  for (const operation of [
    'describe',
    'exists',
    'count_rows',
    'query',
    'version/list',
    'version/describe',
    'drop',
  ]) {
    expect(await post(`/v1/table/a$x/${operation}`, { k: 1 })).toEqual(errorOf('TableNotFound'))
    expect(await post(`/v1/table/x$t/${operation}`, { k: 1 })).toEqual(errorOf('NamespaceNotFound'))
  }
})
