import {
  Dictionary,
  Field,
  Int32,
  List,
  Struct,
  Table,
  Utf8,
  tableFromIPC,
  vectorFromArray,
  type DataType,
} from 'apache-arrow'
import { expect, it } from 'vitest'
import { streamOf, rowsOf } from '../engine/sample-tables.ts'
import { waitForJob } from '../jobs/wait-for-job.ts'
import { errorOf, responseOf, runningBackend } from '../support/running-backend.ts'

type Values = readonly (number | null)[]

/** Rows of a table whose computed column follows columns of several nodes, or of one node and a dictionary. */
function encodeRows(ids: readonly number[], double?: Values, triple?: Values): Uint8Array {
  const nested = new Struct([new Field('of', new List(new Field('item', new Int32(), true)), true)])
  return streamOf(
    new Table({
      id: vectorFromArray(ids, new Int32()),
      nested: vectorFromArray(
        ids.map((id) => ({ of: [id, id] })),
        nested as DataType,
      ),
      label: vectorFromArray(
        ids.map((id) => `label ${id}`),
        new Dictionary(new Utf8(), new Int32()),
      ),
      ...(double && { double: vectorFromArray(double, new Int32()) }),
      ...(triple && { triple: vectorFromArray(triple, new Int32()) }),
    }),
  )
}

async function withComputedColumns() {
  const backend = await runningBackend()
  const { post } = backend
  await post('/v1/table/t/create', encodeRows([1, 2]))
  const new_columns = [
    { name: 'double', computed: 'id * 2' },
    { name: 'triple', computed: 'id * 3' },
  ]
  await post('/v1/table/t/add_columns', { new_columns })
  const merge = async (rows: Uint8Array) =>
    await post(
      '/v1/table/t/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true',
      rows,
    )
  const rows = async () => {
    const response = await post('/v1/table/t/query', { k: 9, columns: ['id', 'double', 'triple'] })
    const found = rowsOf(tableFromIPC(response.bytes())) as { id: number }[]
    return found.toSorted((one, other) => one.id - other.id)
  }
  return { ...backend, merge, rows }
}

const problem = (column: string) =>
  expect.objectContaining({
    status: 400,
    json: expect.objectContaining({
      error: `the column "${column}" is computed, and only AlterTableBackfillColumns sets its values; expected rows without it, or with null`,
    }) as unknown,
  }) as unknown

it('rows that set a computed column are refused', async () => {
  const { post, merge, rows } = await withComputedColumns()
  const before = await rows()
  for (const write of [async (body: Uint8Array) => await post('/v1/table/t/insert', body), merge]) {
    expect(await write(encodeRows([3], [6]))).toEqual(problem('double'))
    expect(await write(encodeRows([3, 4], [null, null], [null, 12]))).toEqual(problem('triple'))
  }
  expect(await rows()).toEqual(before)
})

it('an update that sets a computed column is refused, in every spelling of its name', async () => {
  const { post, rows } = await withComputedColumns()
  const before = await rows()
  for (const column of ['double', '`double`']) {
    const updates = [
      ['id', '9'],
      [column, '7'],
    ]
    expect(await post('/v1/table/t/update', { updates })).toEqual(problem('double'))
  }
  expect(await post('/v1/table/t/update', { updates: [['DOUBLE', '7']] })).toEqual(errorOf('InvalidInput'))
  expect(await rows()).toEqual(before)
})

it('rows without a computed column, or with null, are null in it until the next backfill', async () => {
  const { post, merge, rows } = await withComputedColumns()
  expect(await post('/v1/table/t/insert', encodeRows([3]))).toMatchObject({ status: 200 })
  expect(await post('/v1/table/t/insert', encodeRows([4], [null], [null]))).toMatchObject({ status: 200 })
  expect(await merge(encodeRows([4, 5], [null, null], [null, null]))).toEqual(
    responseOf(expect.objectContaining({ num_inserted_rows: 1, num_updated_rows: 1 })),
  )
  expect(await post('/v1/table/t/update', { updates: [['id', 'id + 10']] })).toMatchObject({ status: 200 })
  expect(await rows()).toEqual([11, 12, 13, 14, 15].map((id) => ({ id, double: null, triple: null })))
  await waitForJob(post, await post('/v1/table/t/backfill_column', { column: 'double' }))
  expect(await rows()).toEqual([11, 12, 13, 14, 15].map((id) => ({ id, double: id * 2, triple: null })))
})
