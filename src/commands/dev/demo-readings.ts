import { createRequire } from 'node:module'
import type * as Arrow from 'apache-arrow'

// The client library uses the CommonJS build of apache-arrow, and only accepts tables of that instance.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- require has no types
const arrow = createRequire(import.meta.url)('apache-arrow') as typeof Arrow
const { Field, FixedSizeList, Float32, Int32, Int64, makeData, makeVector, Schema, Table, Vector } = arrow

const dimensions = 16
const vectorType = new FixedSizeList(dimensions, new Field('item', new Float32(), true))

export const readingsSchema = new Schema([
  new Field('id', new Int64(), false),
  new Field('sensor', new Int32(), false),
  new Field('vector', vectorType, false),
])

export function createReadingVector(id: number): Float32Array {
  return Float32Array.from({ length: dimensions }, (_, index) => createPseudoRandom(id * dimensions + index))
}

/** Deterministic pseudo-random number from 0 to 1. */
function createPseudoRandom(seed: number): number {
  const value = Math.sin(seed * 12.9898) * 43_758.5453
  return value - Math.floor(value)
}

export function generateReadings(first: number, rows: number): Arrow.Table {
  const values = new Float32Array(rows * dimensions)
  for (let row = 0; row < rows; row += 1) values.set(createReadingVector(first + row), row * dimensions)
  const child = makeData({ type: new Float32(), data: values })
  return new Table(readingsSchema, {
    id: makeVector(BigInt64Array.from({ length: rows }, (_, row) => BigInt(first + row))),
    sensor: makeVector(Int32Array.from({ length: rows }, (_, row) => (first + row) % 100)),
    vector: new Vector([makeData({ type: vectorType, length: rows, nullCount: 0, child })]),
  })
}
