import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { eventually } from '../../../../test/support/eventually.ts'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable, runningBackend } from '../support/running-backend.ts'

it('creates a table in a folder that does not reveal its name', async () => {
  const { createTable, get, dataFolder } = await runningBackend()
  const location = await createTable('orders')
  expect(dirname(location)).toBe(join(dataFolder, 'tables'))
  expect(basename(location)).toMatch(/^[0-9a-f]{32}\.lance$/)
  expect(await get('/v1/table?include_declared=false')).toEqual(responseOf({ tables: ['orders'] }))
})

it('overwriting replaces properties, and creates what is not there', async () => {
  const { post, location } = await backendWithTable()
  const overwrite = (id: string, properties: object) => {
    const query = `mode=Overwrite&properties=${encodeURIComponent(JSON.stringify(properties))}`
    return post(`/v1/table/${id}/create?${query}`, streamOf(orders(2)))
  }
  expect(await overwrite('t', { x: '1' })).toEqual(
    responseOf({ location, version: 2, properties: { x: '1' } }),
  )
  expect(await overwrite('new', {})).toMatchObject({ status: 200, json: { version: 1, properties: {} } })
})

it('requires a namespace and a free name, and rejects a location', async () => {
  const { post } = await runningBackend()
  const stream = streamOf(orders(1))
  expect(await post('/v1/table/a$t/create', stream)).toEqual(errorOf('NamespaceNotFound'))
  await post('/v1/namespace/a/create', {})
  expect(await post('/v1/table/a/create?mode=Overwrite', stream)).toEqual(errorOf('TableAlreadyExists'))
  const location = { 'x-catalog-table-location': '/tmp/elsewhere.lance' }
  const elsewhere = { 'x-catalog-table-properties': '{"location":"/tmp/elsewhere.lance"}' }
  const lance = { 'x-lance-table-location': '/tmp/elsewhere.lance' }
  for (const headers of [location, elsewhere, lance]) {
    const response = await post('/v1/table/t/create', stream, headers)
    expect(response).toEqual(errorOf('InvalidInput'))
    expect((response.json as { error: string }).error).toContain('this catalog chooses the locations')
  }
  const properties = { 'x-catalog-table-properties': '{"x":"1"}' }
  const conflicting = { ...properties, 'x-lance-table-properties': '{"x":"2"}' }
  expect(await post('/v1/table/t/create', stream, conflicting)).toEqual(errorOf('InvalidInput'))
  expect(await post('/v1/table/t/create?properties=%7B%7D', stream, properties)).toEqual(
    errorOf('InvalidInput'),
  )
  expect(await post('/v1/table/t/create', stream, properties)).toEqual(
    responseOf({ location: expect.any(String), version: 1, properties: { x: '1' } }),
  )
})

it('gives each concurrent overwrite its own version', async () => {
  const { post } = await runningBackend()
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => post('/v1/table/t/create?mode=overwrite', streamOf(orders(2)))),
  )
  const versions = responses.map(({ json }) => (json as { version: number }).version)
  expect(versions.toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

it('stays consistent while one name is created, dropped and renamed concurrently', async () => {
  const { post, get, dataFolder } = await runningBackend()
  await post('/v1/namespace/a/create', {})
  const stream = streamOf(orders(2))
  const responses = await Promise.all(
    Array.from({ length: 10 }).flatMap(() => [
      post('/v1/table/a$t/create', stream),
      post('/v1/table/a$t/insert', stream),
      post('/v1/table/a$t/drop'),
      post('/v1/table/a$t/rename', { new_table_name: 'u' }),
      post('/v1/table/a$u/drop'),
      post('/v1/namespace/a/drop', { behavior: 'Cascade' }),
      post('/v1/namespace/a/create', { mode: 'ExistOk' }),
    ]),
  )
  for (const { status } of responses) expect([200, 404, 409]).toContain(status)
  const { tables } = (await get('/v1/table')).json as { tables: string[] }
  for (const id of tables) {
    const { json } = await get(`/v1/table/${id}/count_rows`)
    expect((json as number) % 2).toBe(0)
  }
  // What was locked when it was dropped is deleted by the next repair.
  await eventually(async () => expect(await tableFolders(dataFolder)).toHaveLength(tables.length))
})

async function tableFolders(dataFolder: string): Promise<string[]> {
  return (await readdir(join(dataFolder, 'tables'))).filter((name) => name.endsWith('.lance'))
}
