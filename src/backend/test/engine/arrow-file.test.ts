import { Readable } from 'node:stream'
import {
  Bool,
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  RecordBatchFileWriter,
  Schema,
  Struct,
  Table,
  Utf8,
  tableFromIPC,
  vectorFromArray,
} from 'apache-arrow'
import type { DataType } from 'apache-arrow'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { joinFiles, streamToFile } from '../../engine/arrow/arrow-file.ts'
import { orders, rowsOf, schemaOnly, streamOf } from './sample-tables.ts'

const limit = 1e9

const columns: readonly [DataType, fc.Arbitrary<unknown>][] = [
  [new Int32(), fc.integer()],
  [new Int64(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  [new Float64(), fc.double({ noNaN: true })],
  [new Bool(), fc.boolean()],
  [new Utf8(), fc.string({ unit: 'grapheme' })],
  [new Dictionary(new Utf8(), new Int32(), 1), fc.constantFrom('red', 'green', 'blue')],
  [new List(new Field('item', new Utf8(), true)), fc.array(fc.string(), { maxLength: 3 })],
  [
    new FixedSizeList(2, new Field('item', new Float32(), true)),
    fc.tuple(fc.float({ noNaN: true }), fc.float({ noNaN: true })),
  ],
  [new Struct([new Field('x', new Int32(), true)]), fc.record({ x: fc.integer() })],
]

const tables = fc.constantFrom(...columns).chain(([type, values]) =>
  fc
    .array(fc.array(fc.option(values, { freq: 5 }), { minLength: 1, maxLength: 20 }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((batches) => {
      const schema = new Schema([new Field('column', type, true)], new Map([['origin', 'test']]))
      const made = batches.map((batch) => new Table({ column: vectorFromArray(batch, type) }))
      // The writer assumes that all batches of a table share one dictionary.
      const shared = type instanceof Dictionary ? made.slice(0, 1) : made
      return new Table(schema, ...shared.flatMap((table) => table.batches))
    }),
)

it('converts a stream to a file with the same content', () => {
  fc.assert(
    fc.property(tables, (table) => {
      const { file, rows, batches } = streamToFile(streamOf(table), limit)
      const read = tableFromIPC(file)
      expect(rowsOf(read)).toEqual(rowsOf(table))
      expect(read.schema.toString()).toBe(table.schema.toString())
      expect(read.schema.metadata.get('origin')).toBe('test')
      expect([rows, batches]).toEqual([table.numRows, table.batches.length])
    }),
  )
})

it('files of one batch each join to one file', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 5 }), async (counts) => {
      const parts = counts.map((count, index) => orders(count + 1, index * 100))
      const joined = await join(parts.map(fileOf))
      expect(rowsOf(tableFromIPC(joined))).toEqual(parts.flatMap(rowsOf))
    }),
    { numRuns: 30 },
  )
})

it('a file whose magic is padded to 64 bytes joins as well', async () => {
  const file = fileOf(orders(3))
  const padded = Buffer.concat([file.subarray(0, 8), Buffer.alloc(56), file.subarray(8)])
  expect(rowsOf(tableFromIPC(await join([padded])))).toEqual(rowsOf(orders(3)))
})

it('a schema alone makes a file without rows', async () => {
  const { file, batches } = streamToFile(schemaOnly(), limit)
  expect(batches).toBe(0)
  expect(tableFromIPC(file).schema.names).toEqual(['id', 'name', 'embedding'])
  expect(tableFromIPC(await join([file])).numRows).toBe(0)
})

it('accepts a stream without an end-of-stream marker', () => {
  const stream = streamOf(orders(3))
  expect(streamToFile(stream.subarray(0, stream.length - 8), limit).rows).toBe(3)
})

it('rejects bytes that are not a complete stream', () => {
  const stream = Buffer.from(streamOf(orders(3)))
  const schemaLength = stream.readInt32LE(4) + 8
  const refused = [
    Buffer.alloc(0),
    Buffer.from('{"id": 1}'),
    stream.subarray(0, stream.length - 20),
    stream.subarray(0, 6),
    stream.subarray(schemaLength),
    Buffer.concat([stream, Buffer.from('more')]),
    Buffer.concat([stream.subarray(0, schemaLength), stream]),
    stream.subarray(stream.length - 8),
    Buffer.from(RecordBatchFileWriter.writeAll(orders(3)).toUint8Array(true)),
  ]
  for (const bytes of refused)
    expect(() => streamToFile(bytes, limit)).toThrow(/^expected an Arrow IPC stream: /)
})

/** As the engine writes it: the schema is both a message and a part of the footer. */
function fileOf(table: Table): Buffer {
  return streamToFile(streamOf(table), limit).file
}

async function join([first = Buffer.alloc(0), ...rest]: readonly Buffer[]): Promise<Buffer> {
  const chunks = []
  for await (const chunk of joinFiles(first, Readable.from(rest))) chunks.push(chunk)
  return Buffer.concat(chunks)
}
