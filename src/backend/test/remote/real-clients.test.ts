import { connect, connectNamespace } from '@lancedb/lancedb'
import { expect, it } from 'vitest'
import { runningBackend } from '../support/running-backend.ts'
import { runningAdapter } from './running-adapter.ts'

const rows = [
  { id: 1, name: 'one', vector: [1, 0] },
  { id: 2, name: 'two', vector: [0, 1] },
]
const more = [{ id: 3, name: 'three', vector: [1, 1] }]

it('the remote client works through a server in front of a remote catalog', async () => {
  const catalog = await runningBackend()
  const { url } = await runningAdapter(catalog.url(), { delimiter: '.' })
  const client = await connect('db://test', { apiKey: 'any', hostOverride: url })
  await client.createNamespace(['a'], { mode: 'create', properties: { owner: 'Zoë' } })
  expect((await client.describeNamespace(['a'])).properties).toEqual({ owner: 'Zoë' })
  const table = await client.createTable('t', rows, ['a'])
  await expect(client.createTable('t', rows, ['a'])).rejects.toThrow(/already exists/)
  await table.add(more)
  expect(await table.countRows('id > 1')).toBe(2)
  expect((await table.query().where('id = 2').select(['name']).toArray()).map(({ name }) => name)).toEqual([
    'two',
  ])
  expect((await table.query().toArray()).length).toBe(3)
  expect((await table.vectorSearch([1, 0.1]).limit(1).toArray()).map(({ id }) => id)).toEqual([1])
  expect((await table.schema()).fields.map(({ name }) => name)).toEqual(['id', 'name', 'vector'])
  await client.dropTable('t', ['a'])
  await client.dropNamespace(['a'])
})

it('the catalog client commits through a server in front of a remote catalog', async () => {
  const catalog = await runningBackend()
  const { url } = await runningAdapter(catalog.url())
  const client = await connectNamespace('rest', { uri: url })
  await client.createNamespace(['a'])
  const table = await client.createTable('t', rows, ['a'])
  await table.add(more)
  expect(await table.countRows()).toBe(3)
  expect((await catalog.get('/v1/table/a$t/count_rows')).json).toBe(3)
})
