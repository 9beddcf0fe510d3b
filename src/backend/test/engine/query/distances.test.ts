import { Field, FixedSizeList, Float32, Int32, List, Table, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
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

async function tableOfVectors() {
  const table = await freshEngine()
  const rows = new Table({
    id: vectorFromArray([...single.keys()], new Int32()),
    one: vectorFromArray(single, vectorType),
    many: vectorFromArray(several, severalType),
  })
  await table.engine.create(table.location, streamOf(rows), 'create')
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
  const { query } = await tableOfVectors()
  for (const count of [1, 2, 3]) {
    const vector = searched.slice(0, count)
    const expected = vector.flatMap((one, index) =>
      single.map((row, id) => [`${index}:${id}`, distances[type]?.(one, row) ?? 0]),
    )
    const found = await query({ k: 9, vector, vector_column: 'one', distance_type: type })
    expectDistances(distancesIn(found), Object.fromEntries(expected))
  }
})

it('in a column of lists of vectors, the nearest row is the first', async () => {
  const { query } = await tableOfVectors()
  const vector = searched.slice(0, 2)
  const found = await query({ k: 9, vector, vector_column: 'many', distance_type: 'cosine' })
  const sums = several.map((row) => sumOfNearest('cosine', vector, row))
  const expected = [0, 1, 2, 3].toSorted((one, other) => (sums[one] ?? 0) - (sums[other] ?? 0))
  expect(found.toArray().map(({ id }) => Number(id))).toEqual(expected)
})
