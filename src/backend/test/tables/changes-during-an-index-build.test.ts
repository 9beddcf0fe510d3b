import { Field, FixedSizeList, Float32, Table, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, runningBackend } from '../support/running-backend.ts'

const dimensions = 128

function vectors(rows: number): Table {
  const type = new FixedSizeList(dimensions, new Field('item', new Float32(), true))
  const values = Array.from({ length: rows }, (_, row) =>
    Array.from({ length: dimensions }, (_, at) => Math.sin(row * at)),
  )
  return new Table({ v: vectorFromArray(values, type) })
}

it('the build of an index holds up no schema change, insert or other build, and repeats join it', async () => {
  const { post } = await runningBackend()
  await post('/v1/table/t/create', streamOf(vectors(3000)))
  await post('/v1/table/other/create', streamOf(orders(2)))
  const index = {
    column: 'v',
    index_type: 'IVF_PQ',
    num_partitions: 8,
    num_sub_vectors: 32,
    max_iterations: 1000,
  }
  const builds = [post('/v1/table/t/create_index', index)]
  const list = async () => {
    const { jobs } = (await post('/v1/jobs/list', {})).json as { jobs: { table: string; state: string }[] }
    return jobs
  }
  await expect.poll(list).toMatchObject([{ table: 't', state: 'IN_PROGRESS' }])
  builds.push(post('/v1/table/t/create_index', index))
  expect(await post('/v1/table/t/schema_metadata/update', { owner: 'me' })).toMatchObject({ status: 200 })
  expect(await post('/v1/table/t/insert', streamOf(vectors(1)))).toMatchObject({ status: 200 })
  const added = { new_columns: [{ name: 'n', expression: '1' }] }
  expect(await post('/v1/table/t/add_columns', added)).toMatchObject({ status: 200 })
  expect(await post('/v1/table/other/create_index', { column: 'id', index_type: 'BTREE' })).toEqual(
    responseOf({}),
  )
  expect((await list()).filter(({ table }) => table === 't')).toMatchObject([{ state: 'IN_PROGRESS' }])
  for (const { status } of await Promise.all(builds)) expect([200, 202]).toContain(status)
  await expect
    .poll(list, { timeout: 60_000, interval: 200 })
    .toMatchObject([{ state: 'DONE' }, { state: 'DONE' }])
  expect((await post('/v1/table/t/index/list')).json).toMatchObject({
    indexes: [{ index_type: 'IVF_PQ', num_indexed_rows: 3000, num_unindexed_rows: 1 }],
  })
  expect((await post('/v1/table/t/describe', { load_detailed_metadata: true })).json).toMatchObject({
    metadata: { owner: 'me' },
  })
})
