import { Dictionary, Int32, Table, Utf8, makeData, makeVector, vectorFromArray } from 'apache-arrow'
import { expect, it } from 'vitest'
import { streamToFile } from '../../../engine/arrow/arrow-file.ts'
import { freshEngine, rowsOf, streamOf } from '../sample-tables.ts'

const colorType = new Dictionary(new Utf8(), new Int32(), 5)

function colors(...values: string[]): Table {
  return new Table({ color: vectorFromArray(values, colorType) })
}

it('returns the values of a dictionary column with several dictionaries', async () => {
  const { engine, location, query } = await freshEngine()
  await engine.create(location, streamOf(colors('red', 'blue', 'red')), 'create')
  await engine.insert(location, streamOf(colors('green', 'red')), 'append')
  await engine.insert(location, streamOf(colors('black')), 'append')
  const expected = ['red', 'blue', 'red', 'green', 'red', 'black'].map((color) => ({ color }))
  expect(rowsOf(await query({}))).toEqual(expected)
  expect(rowsOf(await query({ columns: { color: 'color' }, filter: "color = 'black'" }))).toEqual([
    { color: 'black' },
  ])
  expect((await query({ with_row_id: true, k: 2 })).schema.names).toEqual(['color', '_rowid'])
  const { fields } = (await engine.describe({ location })).schema('namespace')
  expect(fields).toEqual([{ name: 'color', type: { type: 'utf8' }, nullable: true }])
})

/** A stream with one row: the first word of its dictionary. */
function streamWith(dictionary: string[]): Uint8Array {
  const words = vectorFromArray(dictionary, new Utf8())
  const data = makeData({ type: colorType, length: 1, data: new Int32Array([0]), dictionary: words })
  return streamOf(new Table({ color: makeVector(data) }))
}

/** Joins the messages of both streams under the schema of the first. */
function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const endOfStream = 8
  const schema = Buffer.from(second).readInt32LE(4) + 8
  return Buffer.concat([first.subarray(0, first.length - endOfStream), second.subarray(schema)])
}

it('refuses a stream that replaces a dictionary, and takes one that repeats it', () => {
  const red = streamWith(['red'])
  expect(streamToFile(join(red, red), 1e9).rows).toBe(2)
  expect(() => streamToFile(join(red, streamWith(['blue'])), 1e9)).toThrow('unify the dictionaries')
})
