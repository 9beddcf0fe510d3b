import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable } from '../support/running-backend.ts'

const update = '/v1/table/t/schema_metadata/update'

async function withTable() {
  const backend = await backendWithTable()
  const { location } = backend
  const folder = await connect(join(location, '..'))
  /** Opens the table as a client that writes to it directly. */
  const open = () => folder.openTable(basename(location, '.lance'))
  const described = async () => {
    const response = await backend.post('/v1/table/t/describe?load_detailed_metadata=true', {})
    return response.json as { version: number; metadata: Record<string, string> }
  }
  return { ...backend, open, described }
}

it('keeps unnamed keys, removes a null key, and creates no version without a change', async () => {
  const { post, described } = await withTable()
  await post(update, { a: '1', b: '2' })
  expect(await post(update, { b: null, c: '3', d: null })).toEqual(responseOf({ a: '1', c: '3' }))
  expect((await described()).version).toBe(3)
  for (const body of [{ a: '1' }, { d: null }, {}]) {
    expect(await post(update, body)).toEqual(responseOf({ a: '1', c: '3' }))
  }
  expect((await described()).version).toBe(3)
})

it('accepts a wrapped map', async () => {
  const { post } = await withTable()
  expect(await post(update, { id: ['t'], metadata: { a: '1' } })).toEqual(responseOf({ a: '1' }))
  expect(await post(update, { id: ['x'], metadata: { a: '2' } })).toEqual(errorOf('InvalidInput'))
  expect(await post(update, { branch: 'dev', metadata: { a: '2' } })).toEqual(errorOf('TableBranchNotFound'))
})

it('a branch that is missing and a table that is only declared have no metadata', async () => {
  const { post } = await withTable()
  expect(await post(`${update}?branch=dev`, { a: '1' })).toEqual(errorOf('TableBranchNotFound'))
  await post('/v1/table/d/declare', {})
  expect(await post('/v1/table/d/schema_metadata/update', { a: '1' })).toEqual(errorOf('TableNotFound'))
})

it('loses nothing with concurrent writers of all kinds', async () => {
  const { post, described, location, open } = await withTable()
  const appending = Array.from({ length: 3 }, async () => {
    const table = await open()
    for (let round = 0; round < 5; round++)
      await table.add([{ id: 1000 + round, name: 'appended', embedding: [1, 2] }])
  })
  const keys = Array.from({ length: 8 }, (_, index) => `key ${index}`)
  const editing = keys.map((key) => post(update, { [key]: key }))
  const inserting = Array.from({ length: 4 }, () => post('/v1/table/t/insert', streamOf(orders(1))))
  await Promise.all(appending)
  const responses = await Promise.all([...editing, ...inserting])
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
  expect(await post('/v1/table/t/count_rows', {})).toEqual(responseOf(3 + 3 * 5 + 4))
  const { version, metadata } = await described()
  expect(metadata).toEqual(Object.fromEntries(keys.map((key) => [key, key])))
  expect(version).toBe(1 + 3 * 5 + 8 + 4)
  const left = await readdir(join(location, '_versions'))
  expect(left.filter((file) => file.includes('manifest-'))).toEqual([])
})

it('keeps indexes, deletions and older handles working after a change', async () => {
  const { post, open } = await withTable()
  const table = await open()
  await table.createIndex('id')
  await table.delete('id = 0')
  for (const value of ['1', '2', '3'])
    expect(await post(update, { a: value })).toEqual(responseOf({ a: value }))
  expect(await table.update({ where: 'id = 1', values: { name: 'one' } })).toMatchObject({ rowsUpdated: 1 })
  expect((await table.listIndices()).map(({ columns }) => columns)).toEqual([['id']])
  expect(await table.countRows('id >= 0')).toBe(2)
  expect(await post(update, { b: '4' })).toEqual(responseOf({ a: '3', b: '4' }))
  expect((await table.listVersions()).map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect((await table.optimize()).compaction).toBeDefined()
})
