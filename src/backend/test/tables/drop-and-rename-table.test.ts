import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { responseOf, errorOf, runningBackend } from '../support/running-backend.ts'

async function withTable() {
  const backend = await runningBackend()
  await backend.post('/v1/namespace/a/create', {})
  await backend.post('/v1/namespace/b/create', {})
  return { ...backend, location: await backend.createTable('a$t') }
}

it('drops a table with its data, also with its namespace, and frees its name', async () => {
  const { post, createTable, location } = await withTable()
  expect(await post('/v1/table/a$t/drop')).toEqual(responseOf({ id: ['a', 't'], location, properties: {} }))
  expect(existsSync(location)).toBe(false)
  const another = await createTable('a$t')
  expect((await post('/v1/namespace/a/drop', { behavior: 'Cascade' })).status).toBe(200)
  expect(existsSync(another)).toBe(false)
})

it('keeps the data and location of a renamed table', async () => {
  const { post, get, location } = await withTable()
  expect(await post('/v1/table/a$t/rename', { new_table_name: 'u', new_namespace_id: ['b'] })).toEqual(
    responseOf({}),
  )
  expect(await post('/v1/table/b$u/describe', {})).toEqual(responseOf(expect.objectContaining({ location })))
  expect(await get('/v1/table/b$u/count_rows')).toEqual(responseOf(3))
  expect((await post('/v1/table/b$u/rename', { new_table_name: 'v' })).status).toBe(200)
  expect((await post('/v1/table/b$v/rename', { new_table_name: 'v', new_namespace_id: [] })).status).toBe(200)
  expect(await get('/v1/table')).toEqual(responseOf({ tables: ['v'] }))
  expect(await post('/v1/namespace/b/drop', {})).toEqual(responseOf({ properties: {} }))
})

it('rejects renaming to an invalid name, or beneath a table', async () => {
  const { post } = await withTable()
  await post('/v1/table/a$u/declare', {})
  const rename = (body: unknown) => post('/v1/table/a$t/rename', body)
  expect(await rename({ new_table_name: 't' })).toEqual(errorOf('TableAlreadyExists'))
  expect(await rename({ new_table_name: 'b', new_namespace_id: [] })).toEqual(errorOf('TableAlreadyExists'))
  expect(await rename({ new_table_name: 'x', new_namespace_id: ['a', 'u'] })).toEqual(
    errorOf('NamespaceNotFound'),
  )
  for (const name of ['.', '..', 'x/y', 'x\\y', 'x\u0000', '\ud800', 'x'.repeat(5000)])
    expect(await rename({ new_table_name: name })).toEqual(errorOf('InvalidInput'))
})
