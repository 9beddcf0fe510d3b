import {
  Field,
  Int64,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Table,
  Utf8,
  makeData,
  tableFromIPC,
  vectorFromArray,
  type DataType,
} from 'apache-arrow'
import { expect, it } from 'vitest'
import { RestrictedRows } from '../../../src/gateway/restrictions/restricted-response.ts'
import { encodeFile, toFile } from '../../support/arrow-file.ts'
import { batchMessage } from '../../support/arrow-upload.ts'
import { expectLinearCost } from '../../support/cost-growth.ts'

const canary = 'canary: ssn, region, 8 rows'
const extension = { 'ARROW:extension:name': 'arrow.uuid', 'ARROW:extension:metadata': '{"v":1}' }
const pairs = (values: Readonly<Record<string, string>>) => new Map(Object.entries(values))

function field(name: string, type: DataType, retained: Readonly<Record<string, string>> = {}): Field {
  return new Field(name, type, true, pairs({ before: canary, ...retained, comment: canary }))
}

const fields = [
  field('id', new Int64(), extension),
  field('person', new Struct([field('city', new Utf8()), field('home', new Utf8(), extension)])),
]
const schema = new Schema(fields, pairs({ pandas: canary, other: canary }))
const rows = [1n, 2n, 3n].map((id) => ({ id, person: { city: `c${id}`, home: `h${id}` } }))

function tableOf(count: number): Table {
  const data = makeData({
    type: new Struct(schema.fields),
    length: rows.length,
    nullCount: 0,
    children: [
      vectorFromArray(
        rows.map(({ id }) => id),
        new Int64(),
      ).data[0],
      vectorFromArray(
        rows.map(({ person }) => person),
        fields[1]?.type,
      ).data[0],
    ].flatMap((each) => each ?? []),
  })
  return new Table(
    schema,
    Array.from({ length: count }, () => new RecordBatch(schema, data)),
  )
}

function encodeStream(table: Table): Buffer {
  return Buffer.from(RecordBatchStreamWriter.writeAll(table).toUint8Array(true))
}

/** Passes a response through the filter, in pieces that end at these offsets. */
function filter(response: Buffer, ends: readonly number[] = []): Buffer {
  const filtering = new RestrictedRows(new Set(['id', 'person']))
  const sent: Buffer[] = []
  let begin = 0
  for (const end of [...ends, response.length]) {
    // Memory that is reused afterwards.
    const chunk = Buffer.from(response.subarray(begin, end))
    sent.push(...filtering.push(chunk).map((part) => Buffer.from(part)))
    chunk.fill(0xff)
    begin = end
  }
  return Buffer.concat([...sent, ...filtering.end()])
}

const readRows = (bytes: Buffer): unknown =>
  tableFromIPC(bytes)
    .toArray()
    .map((row) => row?.toJSON())

it.each([
  ['a stream', encodeStream(tableOf(3))],
  ['a stream without an end', encodeStream(tableOf(2)).subarray(0, -8)],
  ['a stream without rows', encodeStream(tableOf(0))],
  ['a file', encodeFile(tableOf(3))],
])('of %s, rows and extension types of visible columns remain, and no other metadata', (_what, response) => {
  const sent = filter(response)
  expect(response.toString('latin1')).toContain('canary')
  expect(sent).toHaveLength(response.length)
  expect(sent.toString('latin1')).not.toMatch(/canary|pandas|comment|before|other/)
  expect(readRows(sent)).toEqual(readRows(response))
  const { schema: shown } = tableFromIPC(sent)
  expect([...shown.metadata]).toEqual([])
  const [id, person] = shown.fields
  expect(Object.fromEntries(id?.metadata ?? [])).toEqual(extension)
  expect([...(person?.metadata ?? [])]).toEqual([])
  const parts: readonly Field[] = person?.type.children ?? []
  expect(parts.map(({ metadata }) => Object.fromEntries(metadata))).toEqual([{}, extension])
})

it('the response is the same in whatever pieces it arrives', () => {
  const response = encodeFile(tableOf(2))
  const sent = filter(response)
  for (let at = 0; at <= response.length; at += 7) expect(filter(response, [at]).equals(sent)).toBe(true)
  expect(filter(response, Array.from(response.keys())).equals(sent)).toBe(true)
})

it('the metadata of a batch is removed', () => {
  const stream = encodeStream(new Table(new Schema([])))
  const [start, end] = [stream.subarray(0, -8), stream.subarray(-8)]
  const whole = Buffer.concat([start, batchMessage(0, { count: canary }), end])
  for (const response of [whole, toFile(whole, new Schema([]))]) {
    expect(response.toString('latin1')).toContain('canary')
    expect(filter(response).toString('latin1')).not.toMatch(/canary|count/)
  }
})

const stream = encodeStream(tableOf(1))
const file = encodeFile(tableOf(1))
const unasked = new Schema([new Field('ssn', new Utf8())])

it.each([
  ['a stream that is cut', stream.subarray(0, -20), 'the response is no whole Arrow stream'],
  ['bytes behind its end', Buffer.concat([stream, Buffer.from(canary)]), 'data after the end of the stream'],
  ['a second schema', Buffer.concat([stream.subarray(0, -8), stream]), 'unexpected message'],
  [
    'a file without a footer',
    file.subarray(0, file.length - 12),
    'the response is not Arrow that can be read',
  ],
  ['a footer of other columns', toFile(stream, unasked), 'the response has a column that was not asked for'],
])('%s is refused', (_what, response, problem) => {
  expect(() => filter(response)).toThrow(problem)
})

it('the cost of removing metadata grows with it', async () => {
  await expectLinearCost(700, (size) => {
    const wide = Array.from({ length: size }, (_, index) => field(`c${index}`, new Int64(), extension))
    const columns = new Set(wide.map(({ name }) => name))
    const response = encodeStream(new Table(new Schema(wide, pairs({ pandas: canary }))))
    return () => {
      const filtering = new RestrictedRows(columns)
      filtering.push(Buffer.from(response))
      filtering.end()
    }
  })
})
