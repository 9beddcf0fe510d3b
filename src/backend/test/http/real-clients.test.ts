import { connect, connectNamespace } from '@lancedb/lancedb'
import { expect, it } from 'vitest'
import { runningBackend } from '../support/running-backend.ts'

const rows = [
  { id: 1, name: 'one', vector: [1, 0] },
  { id: 2, name: 'two', vector: [0, 1] },
]
const more = [{ id: 3, name: 'three', vector: [1, 1] }]

it('the remote client works on tables and namespaces', async () => {
  const { url } = await runningBackend()
  const client = await connect('db://test', { apiKey: 'any', hostOverride: url() })
  await client.createNamespace(['a'], { mode: 'create', properties: { x: '1' } })
  await client.createNamespace(['a'], { mode: 'exist_ok' })
  expect((await client.describeNamespace(['a'])).properties).toEqual({ x: '1' })
  expect((await client.listNamespaces()).namespaces).toEqual(['a'])

  const table = await client.createTable('t', rows, ['a'])
  await expect(client.createTable('t', rows, ['a'])).rejects.toThrow(/already exists/)
  await client.createTable('t', rows, ['a'], { existOk: true })
  await table.add(more)
  expect(await table.countRows()).toBe(3)
  expect(await table.countRows('id > 1')).toBe(2)
  expect(await table.version()).toBe(2)
  expect((await table.schema()).fields.map(({ name, type }) => `${name} ${String(type)}`)).toEqual([
    'id Float64',
    'name Utf8',
    'vector FixedSizeList[2]<Float32>',
  ])
  expect((await table.query().where('id = 2').select(['name']).toArray()).map(({ name }) => name)).toEqual([
    'two',
  ])
  expect((await table.vectorSearch([1, 0.1]).limit(1).toArray()).map(({ id }) => id)).toEqual([1])
  expect(await client.tableNames(['a'])).toEqual(['t'])
  await client.createTable('t', more, ['a'], { mode: 'overwrite' })
  expect(await (await client.openTable('t', ['a'])).countRows()).toBe(1)
  await client.dropTable('t', ['a'])
  await expect(client.openTable('t', ['a'])).rejects.toThrow(/not found/)
  await client.dropNamespace(['a'], { mode: 'skip', behavior: 'cascade' })
  expect((await client.listNamespaces()).namespaces).toEqual([])
})

it('the remote client lists the tables in the root, page by page', async () => {
  const { url, post, get } = await runningBackend()
  await post('/v1/namespace/a/create')
  for (const id of ['a$0', 'a$t', 'b', 'c', 'd']) await post(`/v1/table/${id}/declare`)
  const client = await connect('db://test', { apiKey: 'any', hostOverride: url() })
  expect(await client.tableNames()).toEqual(['b', 'c', 'd'])
  expect(await client.tableNames({ limit: 2 })).toEqual(['b', 'c'])
  expect(await client.tableNames({ limit: 2, startAfter: 'c' })).toEqual(['d'])
  expect((await get('/v1/table')).json).toEqual({ tables: ['a$0', 'a$t', 'b', 'c', 'd'] })
})

it('commits versions that the catalog client wrote to storage', async () => {
  const { url, get, post } = await runningBackend()
  const client = await connectNamespace('rest', { uri: url() })
  await client.createNamespace(['a'])
  const table = await client.createTable('t', rows, ['a'])
  await table.add(more)
  expect(await table.countRows()).toBe(3)
  expect((await get('/v1/table/a$t/count_rows')).json).toBe(3)
  await table.delete('id = 1')
  const { versions } = (await post('/v1/table/a$t/version/list?descending=true')).json as {
    versions: { version: number }[]
  }
  expect(versions.map(({ version }) => version)).toEqual([3, 2, 1])
  expect((await post('/v1/table/a$t/count_rows', {})).json).toBe(2)
  const writers = await Promise.all(Array.from({ length: 3 }, () => client.openTable('t', ['a'])))
  await Promise.all(writers.map((writer) => writer.add(more)))
  expect((await get('/v1/table/a$t/count_rows')).json).toBe(5)
  await expect(client.createTable('t', rows, ['a'])).rejects.toThrow(/already exists/)
  expect(await client.tableNames(['a'])).toEqual(['t'])
  await client.dropTable('t', ['a'])
  expect(await client.tableNames(['a'])).toEqual([])
})
