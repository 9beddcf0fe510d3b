import { FixedSizeList, Field, Float32, Int32, Table, vectorFromArray } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { toCatalogError } from '../../../catalog/known-errors.ts'
import { freshEngine, orders, rowsOf, streamOf } from '../sample-tables.ts'

const unlimited = Number('9223372036854775807')

async function tableOf(count: number) {
  const table = await freshEngine()
  await table.engine.create(table.location, streamOf(orders(count)), 'create')
  return table
}

const ordered = { query: 'order', columns: ['name'] }

describe('limits of a query', () => {
  it.each([
    [{}, 30],
    [{ k: unlimited, vector: [] }, 30],
    [{ k: 7 }, 7],
    [{ k: 0 }, 0],
    [{ k: 7, offset: 28 }, 2],
    [{ offset: 2 ** 32 + 5 }, 0],
    [{ filter: 'id < 4' }, 4],
    [{ vector: [3, 1] }, 10],
    [{ vector: [3, 1], k: unlimited }, 30],
    [{ vector: [3, 1], k: 0 }, 0],
    [{ vector: [3, 9].map((id) => [id, 1]), k: 2 }, 4],
    [{ vector: [0, 1], filter: 'id >= 20', k: 3 }, 3],
    [{ vector: [0, 1], filter: 'id >= 20', k: 3, prefilter: false }, 0],
    [{ vector: [0, 1], lower_bound: 3.5, upper_bound: 10, distance_type: 'L2' }, 2],
    [{ full_text_query: ordered, k: 4 }, 4],
    [{ full_text_query: ordered, vector: [1, 1], k: 4 }, 4],
    [{ full_text_query: { query: { match: { terms: '17', column: 'name' } } } }, 1],
    [{ full_text_query: { query: { multi_match: { query: '17', columns: ['name'], boost: [1] } } } }, 1],
    // A search by text filters before, although the request says after.
    [{ full_text_query: { query: '17', columns: ['name'] }, filter: 'id >= 20', prefilter: false }, 0],
    [{ full_text_query: ordered, filter: 'id >= 27', prefilter: false, k: 3 }, 3],
    [{ full_text_query: ordered, vector: [0, 1], filter: 'id >= 27', prefilter: false, k: 3 }, 3],
  ])('%j finds %i rows', async (request, rows) => {
    const { query } = await tableOf(30)
    expect((await query(request)).numRows).toBe(rows)
  })
})

describe('selected columns', () => {
  it.each([
    [{ columns: ['id'] }, ['id']],
    [{ columns: ['name', 'id'] }, ['name', 'id']],
    [{ columns: { double: 'id * 2' } }, ['double']],
    [{ columns: ['id'], with_row_id: true }, ['id', '_rowid']],
    [{ columns: ['id'], vector: [1, 1] }, ['id', '_distance']],
    [{ columns: null, k: 0 }, ['id', 'name', 'embedding']],
    [{ columns: ['id'], k: 0 }, ['id']],
    [{ columns: ['id'], filter: 'false' }, ['id']],
  ])('%j has %j', async (request, columns) => {
    const { query } = await tableOf(3)
    expect((await query(request)).schema.names).toEqual(columns)
  })
})

it.each([
  [{ k: 4 }, [4, 3, 2, 1]],
  [{ k: 5 }, [4, 3, 2, 1, 0]],
  [{ k: 99 }, [4, 3, 2, 1, 0]],
  [{ k: 5, offset: 3 }, [1, 0]],
  [{ k: 5, filter: 'id <> 2' }, [4, 3, 1, 0]],
  [{ k: 5, offset: 9 }, []],
])('returns the rows of a sorted query with %j', async (parts, ids) => {
  const { query } = await tableOf(5)
  const request = { order_by: [{ column_name: 'id', ascending: false }], columns: ['id'], ...parts }
  expect(rowsOf(await query(request))).toEqual(ids.map((id) => ({ id })))
})

describe('invalid queries', () => {
  it.each([
    [{ filter: 'id >>> 2' }, 13],
    [{ filter: 'id / 0 > 1' }, 13],
    [{ vector: [1, 2, 3] }, 13],
    [{ vector: [1, 2], minimum_nprobes: 30, maximum_nprobes: 3 }, 13],
    [{ full_text_query: { query: { phrase: { terms: 'a b' } } } }, 0],
    [{ filter: 'timeout already exists' }, 13],
    [{ filter: '`timeout already exists` = 1' }, 13],
    [{ filter: 'id = 1 and more' }, 13],
    [{ filter: 'id = 1 more' }, 13],
  ])('%j, with the code %i', async (request, code) => {
    const { query, location } = await tableOf(3)
    const error: unknown = await query(request).catch(toCatalogError)
    expect(error).toMatchObject({ name: 'CatalogError', code })
    expect(String(error)).not.toMatch(/\.rs|\/cargo|Caused by/)
    expect(String(error)).not.toContain(location.slice(1))
  })

  it('the branch main and an empty branch are the main branch', async () => {
    const { query } = await tableOf(3)
    expect((await query({ branch: 'main' })).numRows).toBe(3)
    expect((await query({ branch: '' })).numRows).toBe(3)
  })
})

it('a column may have more metadata than an upload', async () => {
  const { engine, location, query } = await tableOf(3)
  const update = { path: 'id', metadata: { note: 'x'.repeat(2 ** 20) }, replace: false }
  await engine.columns.updateMetadata({ location }, [update])
  expect((await query({})).numRows).toBe(3)
})

it('a vector search finds what comparing all vectors finds', async () => {
  let seed = 1
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647
  const vectors = Array.from({ length: 500 }, () => Array.from({ length: 8 }, () => Math.fround(random())))
  const { engine, location, query } = await freshEngine()
  const embedding = vectorFromArray(vectors, new FixedSizeList(8, new Field('item', new Float32(), true)))
  const ids = vectorFromArray([...vectors.keys()], new Int32())
  await engine.create(location, streamOf(new Table({ id: ids, embedding })), 'create')
  for (const wanted of vectors.slice(0, 5).map((vector) => vector.map((value) => value + 0.01))) {
    const distance = (vector: number[]) =>
      vector.reduce((sum, value, at) => sum + (value - (wanted[at] ?? 0)) ** 2, 0)
    const nearest = vectors.map((vector, id) => ({ id, distance: distance(vector) }))
    nearest.sort((left, right) => left.distance - right.distance)
    const response = await query({ vector: wanted, k: 10, columns: ['id'] })
    expect(rowsOf(response)).toMatchObject(nearest.slice(0, 10).map(({ id }) => ({ id })))
  }
})
