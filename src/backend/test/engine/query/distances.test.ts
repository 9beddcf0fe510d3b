import {
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  List,
  Table,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import { expect, it } from 'vitest'
import { indexSchemas } from '../../../schemas/indexes.ts'
import { freshEngine, streamOf } from '../sample-tables.ts'

type Vector = readonly [number, number]

const vectorType = new FixedSizeList(2, new Field('item', new Float32(), true))
const severalType = new List(new Field('item', vectorType, true))
/** The vectors of rows. */
const single: readonly Vector[] = [
  [1, 0],
  [0, 1],
  [1, 1],
  [-1, 0.5],
]
const several: readonly (readonly Vector[])[] = [
  [
    [1, 0],
    [0.6, 0.8],
  ],
  [[0, 1]],
  [
    [1, 1],
    [2, 0.5],
    [3, 1],
  ],
  [[-1, 0.5]],
]
const searched: readonly Vector[] = [
  [0.9, 0.4],
  [0.1, 1],
  [-0.3, 0.7],
]

const dotOf = ([a, b]: Vector, [c, d]: Vector) => a * c + b * d
const distances: Readonly<Record<string, (one: Vector, other: Vector) => number>> = {
  l2: ([a, b], [c, d]) => (a - c) ** 2 + (b - d) ** 2,
  cosine: (one, other) => 1 - dotOf(one, other) / Math.sqrt(dotOf(one, one) * dotOf(other, other)),
  dot: (one, other) => 1 - dotOf(one, other),
}
const types = Object.keys(distances)

/** The sum, over the searched vectors, of the distance to the nearest vector of the row. */
function sumOfNearest(type: string, vectors: readonly Vector[], row: readonly Vector[]): number {
  const distance = distances[type] ?? dotOf
  return vectors.reduce((sum, vector) => sum + Math.min(...row.map((own) => distance(vector, own))), 0)
}

/** Rows with a column of one vector each (`one`), and one of several (`many`). */
function rows(count = several.length, first = 0): Table {
  const ids = Array.from({ length: count }, (_, index) => first + index)
  return new Table({
    id: vectorFromArray(ids, new Int32()),
    label: vectorFromArray(
      ids.map((id) => `row ${id}`),
      new Dictionary(new Utf8(), new Int32()),
    ),
    one: vectorFromArray(
      ids.map((id) => single[id % single.length]),
      vectorType,
    ),
    many: vectorFromArray(
      ids.map((id) => several[id % several.length]),
      severalType,
    ),
  })
}

async function tableOf(count?: number) {
  const table = await freshEngine()
  await table.engine.create(table.location, streamOf(rows(count)), 'create')
  return table
}

/** The distances of a result by row, and by searched vector if each has its own. */
function distancesIn(result: Table): Record<string, number> {
  return Object.fromEntries(
    result
      .toArray()
      .map(({ id, query_index: searchedIndex = 0, _distance }) => [
        `${String(searchedIndex)}:${String(id)}`,
        Number(_distance),
      ]),
  )
}

function expectDistances(found: Record<string, number>, expected: Record<string, number>): void {
  expect(Object.keys(found).toSorted()).toEqual(Object.keys(expected).toSorted())
  for (const [key, distance] of Object.entries(expected)) expect(found[key], key).toBeCloseTo(distance, 5)
}

it.each(types)('each vector of a search in a column of vectors has its own %s distances', async (type) => {
  const { query } = await tableOf()
  for (const count of [1, 2, 3]) {
    const vector = searched.slice(0, count)
    const expected = vector.flatMap((one, index) =>
      single.map((row, id) => [`${index}:${id}`, distances[type]?.(one, row) ?? 0]),
    )
    const found = await query({ k: 9, vector, vector_column: 'one', distance_type: type })
    expectDistances(distancesIn(found), Object.fromEntries(expected))
  }
})

it.each(types)('in a column of lists of vectors, the %s distances of a search are added up', async (type) => {
  const { query } = await tableOf()
  for (const count of [1, 2, 3]) {
    const vector = searched.slice(0, count)
    const expected = several.map((row, id) => [`0:${id}`, sumOfNearest(type, vector, row)])
    const search = { k: 9, vector, vector_column: 'many', distance_type: type }
    for (const columns of [undefined, ['id'], ['_distance', 'many', 'label', 'id']]) {
      const found = await query({ ...search, columns })
      expectDistances(distancesIn(found), Object.fromEntries(expected))
    }
  }
})

it('bounds are those of the distances in the result', async () => {
  const { query } = await tableOf()
  const vector = searched.slice(0, 2)
  const search = { k: 9, vector, vector_column: 'many', distance_type: 'cosine' }
  for (const [lower_bound, upper_bound] of [
    [undefined, 0.3],
    [0.3, undefined],
    [0.2, 1],
    [-1, 0],
  ]) {
    const expected = several
      .map((row, id): [string, number] => [`0:${id}`, sumOfNearest('cosine', vector, row)])
      .filter(([, sum]) => sum >= (lower_bound ?? -Infinity) && sum < (upper_bound ?? Infinity))
    const found = await query({ ...search, lower_bound, upper_bound })
    expectDistances(distancesIn(found), Object.fromEntries(expected))
  }
})

it('with an index that covers a part of the rows, new rows are as far away as the old ones', async () => {
  const { engine, location, query } = await tableOf(400)
  const point = { location, branch: undefined, version: undefined }
  const index = { column: 'many', index_type: 'IVF_FLAT', distance_type: 'cosine', num_partitions: 1 }
  await engine.indexes.create(point, indexSchemas.CreateTableIndex.request.parse(index))
  const vector = searched.slice(0, 2)
  const search = { k: 1000, vector, vector_column: 'many', distance_type: 'cosine', nprobes: 1 }
  const check = async (changes: object, count: number) => {
    const found = distancesIn(await query({ ...search, ...changes }))
    const ids = Array.from({ length: count }, (_, id) => id)
    expectDistances(
      found,
      Object.fromEntries(ids.map((id) => [`0:${id}`, sumOfNearest('cosine', vector, several[id % 4] ?? [])])),
    )
  }
  await check({}, 400)
  await check({ refine_factor: 2 }, 400)
  await engine.insert(location, streamOf(rows(8, 400)), 'append', undefined)
  await check({}, 408)
  await check({ refine_factor: 2 }, 408)
  await check({ fast_search: true }, 400)
  await check({ fast_search: true, refine_factor: 2 }, 400)
  await check({ bypass_vector_index: true }, 408)
})
