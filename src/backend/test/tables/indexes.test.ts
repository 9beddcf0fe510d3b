import { Field, FixedSizeList, Float32, List, Table, Utf8, tableFromIPC, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { orders, streamOf } from '../engine/sample-tables.ts'
import { responseOf, errorOf, backendWithTable } from '../support/running-backend.ts'

/** Creates a table `t` with a number, a text and a two-dimensional vector. */
async function withRows(rows = 300) {
  const backend = await backendWithTable(orders(rows))
  const create = (column: string, index_type: string, more: object = {}) =>
    backend.post('/v1/table/t/create_index', { column, index_type, ...more })
  const list = async (body?: object) => {
    const { json } = await backend.post('/v1/table/t/index/list', body)
    return json as {
      indexes: { index_name: string; index_type: string; index_uuid: string }[]
      page_token?: string
    }
  }
  return { ...backend, create, list }
}

it('an index is built, listed, measured and dropped', async () => {
  const { create, list, post } = await withRows()
  expect(await create('id', 'BTREE')).toEqual(responseOf({}))
  await post('/v1/table/t/insert', streamOf(orders(7)))
  const counted = { index_type: 'BTREE', num_indexed_rows: 300, num_unindexed_rows: 7 }
  expect(await list()).toMatchObject({
    indexes: [
      {
        ...counted,
        index_uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        status: 'SUCCEEDED',
        type_url: expect.stringContaining('BTree'),
        created_at: expect.stringMatching(/^20\d\d-.*Z$/),
        index_details: '{}',
      },
    ],
  })
  const stats = responseOf({ ...counted, num_indices: 1 })
  expect(await post('/v1/table/t/index/id_idx/stats', {})).toEqual(stats)
  expect(await post('/v1/table/t/index/id_idx/drop')).toEqual(responseOf({}))
  expect(await list()).toEqual({ indexes: [] })
  expect(await list({ version: 3 })).toMatchObject({ indexes: [{ index_name: 'id_idx' }] })
})

/** Rows with eight-dimensional vectors, which one index type requires. */
function withWideVectors(count: number): Table {
  const vectors = Array.from({ length: count }, (_, row) =>
    Array.from({ length: 8 }, (_, at) => Math.sin(row + at)),
  )
  const type = new FixedSizeList(8, new Field('item', new Float32(), true))
  return orders(count).assign(new Table({ embedding: vectorFromArray(vectors, type) }))
}

const buildable: readonly [spelling: string, column: string, type: string, more: object][] = [
  ['btree', 'id', 'BTREE', {}],
  ['Scalar', 'id', 'BTREE', {}],
  ['BITMAP', 'id', 'BITMAP', {}],
  ['fts', 'name', 'FTS', { language: 'german', with_position: true, stem: true, max_token_length: 20 }],
  [' INVERTED ', 'name', 'FTS', { base_tokenizer: 'ngram', min_ngram_length: 2, max_ngram_length: 3 }],
  ['FM', 'name', 'FM', {}],
  ['IVF_FLAT', 'embedding', 'IVF_FLAT', { num_partitions: 2, distance_type: 'COSINE' }],
  ['VECTOR', 'embedding', 'IVF_PQ', { num_partitions: 2, num_sub_vectors: 1, num_bits: 8, sample_rate: 16 }],
  ['ivf_rq', 'embedding', 'IVF_RQ', { num_partitions: 1, distance_type: 'dot', max_iterations: 5 }],
  ['IVF_HNSW_SQ', 'embedding', 'IVF_HNSW_SQ', { num_partitions: 1, m: 4, ef_construction: 20 }],
  ['IVF_HNSW_PQ', 'embedding', 'IVF_HNSW_PQ', { num_partitions: 1, num_sub_vectors: 1 }],
]

it('builds every index type under each of its names', async () => {
  const { create, list, post } = await withRows()
  await post('/v1/table/t/create?mode=overwrite', streamOf(withWideVectors(300)))
  for (const [number, [spelling, column, , more]] of buildable.entries()) {
    const response = await create(column, spelling, { name: `i${number}`, ...more })
    expect([spelling, response.json]).toEqual([spelling, {}])
  }
  const { indexes } = await list()
  const built = Object.fromEntries(indexes.map(({ index_name, index_type }) => [index_name, index_type]))
  expect(built).toEqual(Object.fromEntries(buildable.map(([, , type], number) => [`i${number}`, type])))
  expect((await post('/v1/table/t/index/i6/stats')).json).toMatchObject({ distance_type: 'cosine' })
})

it.each(['LABEL_LIST', 'labellist'])('builds %s only over lists', async (type) => {
  const { create, post, list } = await withRows(3)
  expect(await create('id', type)).toEqual(errorOf('InvalidInput'))
  const words = new List(new Field('item', new Utf8(), true))
  const table = new Table({ words: vectorFromArray([['a', 'b'], ['b']], words) })
  await post('/v1/table/t/create?mode=overwrite', streamOf(table))
  expect(await create('words', type)).toEqual(responseOf({}))
  expect((await list()).indexes).toMatchObject([{ index_type: 'LABEL_LIST' }])
})

it('target_partition_size sets the number of partitions, unless the request names one', async () => {
  const { create, post } = await withRows()
  /** Searches one partition for the rows nearest to row 0. A partition contains neighbours only. */
  const countNearest = async () => {
    const query = { vector: { single_vector: [0, 1] }, k: 300, nprobes: 1, maximum_nprobes: 1 }
    return tableFromIPC((await post('/v1/table/t/query', query)).bytes()).numRows
  }
  expect(await create('embedding', 'IVF_FLAT', { target_partition_size: 1000 })).toEqual(responseOf({}))
  expect(await countNearest()).toBe(300)
  expect(await create('embedding', 'IVF_FLAT', { target_partition_size: 50 })).toEqual(responseOf({}))
  const few = await countNearest()
  expect(few).toBeGreaterThan(0)
  expect(few).toBeLessThan(300)
  const both = { target_partition_size: 50, num_partitions: 1 }
  expect(await create('embedding', 'IVF_FLAT', both)).toEqual(responseOf({}))
  expect(await countNearest()).toBe(300)
})

it('rejects requests that would crash the engine', async () => {
  const { create } = await withRows()
  const refused: readonly [string, string, object][] = [
    ['id', 'HASH', {}],
    ['', 'BTREE', {}],
    ['name', 'BTREE', { name: '' }],
    ['name', 'BTREE', { name: '..' }],
    ['name', 'BTREE', { name: 'a/b' }],
    ['id', 'BTREE', { num_partitions: 2 }],
    ['name', 'FTS', { distance_type: 'l2' }],
    // The engine would abort the process.
    ['name', 'FTS', { language: 'klingon' }],
    ['name', 'FTS', { base_tokenizer: 'weird' }],
    ['name', 'FTS', { base_tokenizer: 'lindera/ipadic' }],
    ['name', 'FTS', { max_token_length: -1 }],
    ['name', 'IVF_PQ', {}],
    ['id', 'FTS', {}],
    ['embedding', 'BTREE', {}],
    ['embedding', 'IVF_FLAT', { distance_type: 'far' }],
    ['embedding', 'IVF_FLAT', { distance_type: 'hamming', num_partitions: 2 }],
    ['embedding', 'IVF_FLAT', { num_partitions: 0 }],
    ['embedding', 'IVF_FLAT', { num_partitions: 60_000 }],
    ['embedding', 'IVF_FLAT', { num_partitions: 1.5 }],
    ['embedding', 'IVF_FLAT', { num_partitions: 2 ** 32 + 1 }],
    ['embedding', 'IVF_PQ', { num_sub_vectors: 3 }],
    ['embedding', 'IVF_PQ', { num_bits: 99 }],
  ]
  for (const [column, type, more] of refused) {
    const message = JSON.stringify([type, more])
    expect(await create(column, type, more), message).toEqual(errorOf('InvalidInput'))
  }
})

it('rejects the name of an index of another type', async () => {
  const { create, post, list } = await withRows()
  expect(await create('id', 'BTREE', { name: 'one' })).toEqual(responseOf({}))
  const bitmap = { column: 'id', index_type: 'BITMAP', name: 'one' }
  for (const route of ['create_index', 'create_scalar_index']) {
    const response = await post(`/v1/table/t/${route}`, bitmap)
    expect(response).toEqual(errorOf('TableIndexAlreadyExists'))
    expect((response.json as { error: string }).error).toContain('"one" has the type BTREE, not BITMAP')
  }
  const scalar = await post('/v1/table/t/create_scalar_index', { ...bitmap, name: null })
  expect(scalar).toEqual(responseOf({}))
  expect(await create('id', 'BTREE')).toEqual(errorOf('TableIndexAlreadyExists'))
  const { indexes } = await list()
  expect(indexes.map(({ index_name, index_type }) => [index_name, index_type])).toEqual([
    ['id_idx', 'BITMAP'],
    ['one', 'BTREE'],
  ])
})

it('replaces an index of the same column and type, also concurrently', async () => {
  const { create, post, list } = await withRows()
  for (const [column, type, more] of [
    ['id', 'BTREE', {}],
    ['id', 'SCALAR', { name: 'one' }],
    ['name', 'FTS', {}],
    ['embedding', 'IVF_FLAT', { num_partitions: 1 }],
  ] as const) {
    const build = () => create(column, type, more)
    const builds = await Promise.all([build(), build(), build()])
    expect(builds).toEqual(builds.map(() => responseOf({})))
  }
  const scalar = await post('/v1/table/t/create_scalar_index', { column: 'id', index_type: 'btree' })
  expect(scalar).toEqual(responseOf({}))
  const before = (await list()).indexes.find(({ index_name }) => index_name === 'id_idx')
  await post('/v1/table/t/insert', streamOf(orders(5)))
  expect(await create('id', 'BTREE')).toEqual(responseOf({}))
  const { indexes } = await list()
  expect(indexes.map(({ index_name }) => index_name)).toEqual(['embedding_idx', 'id_idx', 'name_idx', 'one'])
  const after = indexes.find(({ index_name }) => index_name === 'id_idx')
  expect(after).toMatchObject({ num_unindexed_rows: 0 })
  expect(after).not.toMatchObject({ index_uuid: before?.index_uuid })
})

it('runs concurrent builds in sequence', async () => {
  const { create, list, post } = await withRows(2000)
  const builds = Array.from({ length: 12 }, (_, number) =>
    create('name', number % 2 === 0 ? 'FTS' : 'BTREE', { name: `i${number}` }),
  )
  const inserts = Array.from({ length: 4 }, () => post('/v1/table/t/insert', streamOf(orders(5))))
  for (const response of await Promise.all([...builds, ...inserts])) expect(response.status).toBe(200)
  expect((await list()).indexes).toHaveLength(12)
})
