import { Int32, Table, Utf8, tableFromIPC, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'
import { orders, rowsOf, schemaOnly, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable, runningBackend } from '../support/running-backend.ts'

async function withTable() {
  const backend = await backendWithTable(orders(5))
  const names = async () => {
    const response = await backend.post('/v1/table/t/query', {
      k: 100,
      columns: ['id', 'name'],
      order_by: [{ column_name: 'id' }],
    })
    return rowsOf(tableFromIPC(response.bytes()))
  }
  return { ...backend, names }
}

function named(rows: Record<number, string>): Uint8Array {
  return streamOf(
    new Table({
      id: vectorFromArray(Object.keys(rows).map(Number), new Int32()),
      name: vectorFromArray(Object.values(rows), new Utf8()),
    }),
  )
}

it('applies the conditions of a merge to updates and deletes', async () => {
  const { post, names } = await withTable()
  const query = new URLSearchParams({
    on: 'id',
    when_matched_update_all: 'true',
    when_matched_update_all_filt: 'target.id > 0',
    when_not_matched_by_source_delete: 'TRUE',
    when_not_matched_by_source_delete_filt: 'id >= 3',
    timeout: '1.5m',
  })
  expect(await post(`/v1/table/t/merge_insert?${query.toString()}`, named({ 0: 'zero', 1: 'one' }))).toEqual(
    responseOf({ version: 2, num_inserted_rows: 0, num_updated_rows: 1, num_deleted_rows: 2 }),
  )
  expect(await names()).toEqual([
    { id: 0, name: 'order 0' },
    { id: 1, name: 'one' },
    { id: 2, name: 'order 2' },
  ])
})

it('a merge creates a table that is only declared, unless it inserts nothing', async () => {
  const { post } = await runningBackend()
  await post('/v1/table/d/declare', {})
  const target = '/v1/table/d/merge_insert?on=id'
  expect(await post(`${target}&when_not_matched_insert_all=false`, named({ 1: 'a' }))).toEqual(
    errorOf('TableNotFound'),
  )
  expect(await post(`${target}&branch=dev`, named({ 1: 'a' }))).toEqual(errorOf('TableBranchNotFound'))
  expect(await post(target, named({ 1: 'a', 2: 'b' }))).toEqual(
    responseOf({ version: 2, num_inserted_rows: 2, num_updated_rows: 0, num_deleted_rows: 0 }),
  )
})

it('the first merge into a declared table refuses what every later one refuses, and writes nothing then', async () => {
  const { post } = await runningBackend()
  await post('/v1/table/d/declare', {})
  const upsert = 'when_matched_update_all=true&when_not_matched_insert_all=true'
  for (const query of [
    'on=missing',
    `on=id&${upsert}`,
    `on=id&${upsert}&when_matched_update_all_filt=((`,
    `on=id&${upsert}&when_matched_update_all_filt=${encodeURIComponent('target.missing > 0')}`,
  ])
    expect(await post(`/v1/table/d/merge_insert?${query}`, twice), query).toEqual(errorOf('InvalidInput'))
  expect((await post('/v1/table/d/describe', { check_declared: true })).json).toMatchObject({
    is_only_declared: true,
  })
  expect(await post(`/v1/table/d/merge_insert?on=id&${upsert}`, named({ 1: 'a', 2: 'b' }))).toMatchObject({
    json: { num_inserted_rows: 2, num_updated_rows: 0 },
  })
})

it('a merge takes a timeout', async () => {
  const { post } = await withTable()
  for (const timeout of ['30s', '60000ms', '1.5m', '2h', '1m 30s']) {
    const query = `on=id&timeout=${encodeURIComponent(timeout)}`
    const merged = await post(`/v1/table/t/merge_insert?${query}`, named({ 1: 'a' }))
    expect(merged, timeout).toMatchObject({ status: 200 })
  }
})

const ofText = streamOf(new Table({ id: vectorFromArray(['a'], new Utf8()) }))
const twice = streamOf(new Table({ id: vectorFromArray([1, 2, 2], new Int32()) }))

/** By default with one row, and refused with InvalidInput. */
const refusedMerges: readonly [query: string, body?: Uint8Array | string, error?: ErrorName][] = [
  ['on='],
  ['on=embedding'],
  ['on=id&when_not_matched_insert_all=false'],
  ['on=id&when_matched_update_all_filt=true'],
  ['on=id&when_matched_update_all=true&when_matched_update_all_filt=target.id'],
  ['on=id&when_matched_update_all=true&when_matched_update_all_filt=target.x=1'],
  ['on=id&timeout=30'],
  ['on=id&timeout=30%20%20s'],
  ['on=id&timeout=1%20fortnight'],
  ['on=id&timeout=0s'],
  ['on=id&timeout=1ms', streamOf(orders(200_000))],
  ['on=id&branch=dev', named({ 1: 'a' }), 'TableBranchNotFound'],
  ['on=id', 'no Arrow'],
  ['on=id', ofText, 'TableSchemaValidationError'],
  ['on=id&when_matched_update_all=true', twice],
]

it('rejects an invalid merge without changing anything', async () => {
  const { post, names } = await withTable()
  const before = await names()
  for (const [query, body = named({ 1: 'a' }), error = 'InvalidInput'] of refusedMerges) {
    expect([query, await post(`/v1/table/t/merge_insert?${query}`, body)]).toEqual([query, errorOf(error)])
  }
  expect(await names()).toEqual(before)
  expect(await post('/v1/table/t/merge_insert?on=id', schemaOnly())).toEqual(
    responseOf({ version: 2, num_inserted_rows: 0, num_updated_rows: 0, num_deleted_rows: 0 }),
  )
})

it('an update adds properties, also without a row', async () => {
  const { post } = await withTable()
  const updates = [['id', 'id + 10']]
  const properties = { owner: 'a' }
  expect(await post('/v1/table/t/update', { predicate: 'false', updates, properties })).toEqual(
    responseOf({ version: 2, updated_rows: 0, properties }),
  )
  expect((await post('/v1/table/t/describe', {})).json).toMatchObject({ properties })
})

it("tells LanceDB's clients the number of updated rows by one name only, as newer ones refuse two", async () => {
  const { url } = await withTable()
  const response = await fetch(`${url()}/v1/table/t/update`, {
    method: 'POST',
    headers: { 'x-lancedb-database': 'test' },
    body: JSON.stringify({ updates: [['name', "'x'"]] }),
  })
  expect(await response.json()).toEqual({ version: 2, rows_updated: 5, properties: {} })
})

const refusedChanges: readonly [route: string, body: object, error: ErrorName][] = [
  ['update', { updates: [['name', "'a'"]], predicate: 'id' }, 'InvalidInput'],
  ['update', { updates: [['name', "'a'"]], predicate: 'nothing = 1' }, 'InvalidInput'],
  ['update', { updates: [['id', "'a'"]] }, 'TableSchemaValidationError'],
  ['update', { updates: [['name', "'a'"]], branch: 'dev' }, 'TableBranchNotFound'],
  ['delete', { predicate: 'id' }, 'InvalidInput'],
  ['delete', { predicate: 'id = 1, id = 2' }, 'Unsupported'],
  ['delete', { predicate: 'nothing = 1' }, 'InvalidInput'],
  ['delete', { predicate: 'id = 1', branch: 'dev' }, 'TableBranchNotFound'],
]

it('rejects invalid updates and deletes without changing anything', async () => {
  const { post, names } = await withTable()
  const before = await names()
  for (const [route, body, error] of refusedChanges) {
    expect([body, await post(`/v1/table/t/${route}`, body)]).toEqual([body, errorOf(error)])
  }
  expect(await names()).toEqual(before)
})

it("takes the timeout of LanceDB's clients, a header", async () => {
  const { post } = await withTable()
  const headers = { 'x-lancedb-database': 'test', 'x-request-timeout-ms': '1' }
  const merged = await post('/v1/table/t/merge_insert?on=id', streamOf(orders(200_000)), headers)
  expect(merged).toEqual(errorOf('InvalidInput'))
})
