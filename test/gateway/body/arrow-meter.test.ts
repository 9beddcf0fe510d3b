import { hash, randomBytes } from 'node:crypto'
import {
  Dictionary,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  Int8,
  List,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Table,
  TimestampMicrosecond,
  Utf8,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ArrowMeter } from '../../../src/gateway/body/read-arrow-body.ts'
import { isThorough } from '../../support/thorough.ts'

/** Reads the bytes in chunks that end at these offsets. */
function meter(bytes: Buffer, ends: readonly number[] = []) {
  const meter = new ArrowMeter(true)
  let begin = 0
  for (const end of [...ends.toSorted((a, b) => a - b), bytes.length]) {
    // A buffer of its own, overwritten afterwards: the meter must not retain it.
    const chunk = Buffer.from(bytes.subarray(begin, end))
    meter.push(chunk)
    chunk.fill(0xff)
    begin = end
  }
  return meter.getFacts()
}

function streamOf(rows: readonly number[], schemaMetadata = new Map<string, string>()): Buffer {
  const writer = new RecordBatchStreamWriter()
  const fields = [new Field('numbers', new Int32(), true), new Field('words', new Utf8(), true)]
  const schema = new Schema(fields, schemaMetadata)
  for (const count of rows) {
    const numbers = vectorFromArray(Array<number>(count).fill(1), new Int32())
    const words = vectorFromArray(Array<string>(count).fill('word'), new Utf8())
    for (const { data } of new Table({ numbers, words }).batches) writer.write(new RecordBatch(schema, data))
  }
  return Buffer.from(writer.finish().toUint8Array(true))
}

const stream = streamOf([3, 0, 1000])

it('reads rows, batches, bytes and schema from the headers, for any split into chunks', () => {
  const whole = meter(stream)
  expect(whole).toEqual({
    bytes: stream.length,
    batches: 3,
    rows: 1003,
    schema: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: stream.length })), (ends) => {
      expect(meter(stream, ends)).toEqual(whole)
    }),
  )
  const everyByte = Array.from({ length: stream.length }, (_, index) => index)
  expect(meter(stream, everyByte)).toEqual(whole)
})

const number = new Field('a', new Int32(), true)
const schemas: Record<string, Schema> = {
  'one column': new Schema([number]),
  'another name': new Schema([new Field('b', new Int32(), true)]),
  'another type': new Schema([new Field('a', new Int8(), true)]),
  'not nullable': new Schema([new Field('a', new Int32(), false)]),
  'a list': new Schema([new Field('a', new List(number), true)]),
  'a vector of 3': new Schema([
    new Field('a', new FixedSizeList(3, new Field('v', new Float32(), true)), true),
  ]),
  'a vector of 4': new Schema([
    new Field('a', new FixedSizeList(4, new Field('v', new Float32(), true)), true),
  ]),
  'a time in a zone': new Schema([new Field('a', new TimestampMicrosecond('UTC'), true)]),
  'a text': new Schema([new Field('a', new Utf8(), true)]),
  'a dictionary': new Schema([new Field('a', new Dictionary(new Utf8(), new Int32(), 7), true)]),
}

function fingerprintOf(schema: Schema): string | undefined {
  return meter(Buffer.from(tableToIPC(new Table(schema), 'stream'))).schema
}

it('different schemas have different fingerprints, without their metadata', () => {
  const fingerprints = Object.values(schemas).map(fingerprintOf)
  expect(fingerprints).not.toContain(undefined)
  expect(new Set(fingerprints).size).toBe(fingerprints.length)
  expect(meter(streamOf([1], new Map([['writer', 'somebody']]))).schema).toBe(meter(streamOf([2])).schema)
})

it('the fingerprint of a schema is stable', () => {
  const canonical = '[["a",true,[2,32,true],null,[]],["t",true,[10,2,""],null,[]]]'
  const time = new Field('t', new TimestampMicrosecond(), true)
  expect(fingerprintOf(new Schema([number, time]))).toBe(hash('sha256', canonical))
})

it('the values of a dictionary are no rows', () => {
  const words = vectorFromArray(['a', 'b', 'a'], new Dictionary(new Utf8(), new Int32()))
  const bytes = Buffer.from(tableToIPC(new Table({ words }), 'stream'))
  expect(meter(bytes)).toMatchObject({ batches: 1, rows: 3 })
})

const negative = Buffer.from(stream)
negative.writeBigInt64LE(-1n, negative.indexOf(Buffer.from(BigInt64Array.of(1000n).buffer)))

it.each<[what: string, bytes: Buffer, unread: string]>([
  ['a negative number of rows', negative, 'a batch has a negative number of rows'],
  ['text', Buffer.from('this is no Arrow stream'), 'not an Arrow stream'],
  [
    'a file',
    Buffer.from(tableToIPC(new Table(schemas['one column'] as Schema), 'file')),
    'an Arrow file, not a stream',
  ],
  ['bytes behind the end', Buffer.concat([stream, Buffer.from([1])]), 'data after the end of the stream'],
  ['two streams', Buffer.concat([stream, stream]), 'data after the end of the stream'],
  ['two schemas', Buffer.concat([stream.subarray(0, -8), stream]), 'unexpected message'],
  ['a huge schema', Buffer.from([255, 255, 255, 255, 1, 0, 16, 0]), 'a header has 1048577 bytes'],
  [
    'a huge header',
    Buffer.concat([stream.subarray(0, -4), Buffer.from([1, 0, 128, 0])]),
    'a header has 8388609 bytes',
  ],
  ['a negative header', Buffer.from([255, 255, 255, 255, 0, 0, 0, 128]), 'a header has -2147483648 bytes'],
  ['no schema first', stream.subarray(8 + stream.readInt32LE(4)), 'no schema at the start'],
  ['an end without a schema', stream.subarray(-8), 'no schema at the start'],
])('%s is refused', (_what, bytes, unread) => {
  expect(() => meter(bytes)).toThrow(`the body is not an Arrow IPC stream that can be read: ${unread}`)
  const everyByte = Array.from({ length: bytes.length }, (_, index) => index)
  expect(() => meter(bytes, everyByte)).toThrow(unread)
})

it('a stream that was cut is recorded as such', () => {
  const cut = stream.subarray(0, stream.length - 20)
  expect(meter(cut)).toMatchObject({ bytes: cut.length, unread: 'truncated' })
})

it('an empty stream is not truncated', () => {
  expect(new ArrowMeter(true).getFacts()).toEqual({ bytes: 0, batches: 0, rows: 0 })
})

it('damaged streams are refused or measured, and never make it loop', () => {
  const small = streamOf([2])
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(small.length - 1), fc.nat(255)), { maxLength: 8 }), (changes) => {
      const damaged = Buffer.from(small)
      for (const [at, byte] of changes) damaged[at] = byte
      expectMeasuredOrRefused(damaged)
    }),
    { numRuns: isThorough ? 2_000 : 100 },
  )
  for (let at = 0; at < 200; at += 1) expectMeasuredOrRefused(randomBytes(at))
})

function expectMeasuredOrRefused(bytes: Buffer): void {
  try {
    expect(meter(bytes).bytes).toBe(bytes.length)
  } catch (error) {
    expect(error).toMatchObject({ kind: 'InvalidInput', reason: 'malformed_body' })
  }
}
