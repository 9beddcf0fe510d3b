import { Field, Null, RecordBatch, Schema, Struct, Table, makeData } from 'apache-arrow'
import { expect, it } from 'vitest'
import { streamToFile } from '../../../src/backend/engine/arrow-file.ts'
import { readFrames } from '../../../src/backend/engine/arrow-frames.ts'
import { int64Field, structVector } from '../../../src/interface/flatbuffer.ts'
import { remoteUpload } from './remote-upload.ts'
import { orders, streamOf } from './sample-tables.ts'

// An engine that believes these asks for more memory than there is, which ends the whole process.

it('a few bytes that claim a trillion rows of type null are refused', () => {
  const schema = new Schema([new Field('nothing', new Null(), true)])
  const children = [makeData({ type: new Null(), length: 5 })]
  const struct = makeData({ type: new Struct(schema.fields), length: 5, children })
  const stream = Buffer.from(streamOf(new Table([new RecordBatch(schema, struct)])))
  expect(streamToFile(stream, 1e9).rows).toBe(5)
  const { header } = batchOf(stream)
  const nodes = structVector(header, 1, 16)
  header.view.setBigInt64(nodes.start, 10n ** 12n, true)
  expect(() => streamToFile(stream, 1e9)).toThrow(/claims 1000000000000 values/)
})

it('a batch that claims more rows than its columns hold is refused', () => {
  const stream = Buffer.from(streamOf(orders(10)))
  const batch = batchOf(stream)
  const rows = structVector(batch.header, 1, 16)
  batch.header.view.setBigInt64(rows.start, 2n ** 50n, true)
  expect(() => streamToFile(stream, 1e9)).toThrow(/claims 1125899906842624 values/)
})

it('a buffer outside of its body is refused', () => {
  const stream = Buffer.from(streamOf(orders(10)))
  const batch = batchOf(stream)
  const buffers = structVector(batch.header, 2, 16)
  batch.header.view.setBigInt64(buffers.start + 8, 2n ** 40n, true)
  expect(() => streamToFile(stream, 1e9)).toThrow(/lies outside of its body/)
})

it('a compressed buffer that claims a terabyte is refused', async () => {
  const stream = Buffer.from(await remoteUpload(orders(5000)))
  const batch = batchOf(stream)
  const buffers = structVector(batch.header, 2, 16)
  const body = batch.bytes.subarray(batch.metadataLength)
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  for (let index = 0; index < buffers.length; index++) {
    const offset = Number(batch.header.view.getBigInt64(buffers.start + 16 * index, true))
    const length = Number(batch.header.view.getBigInt64(buffers.start + 16 * index + 8, true))
    if (length > 0) view.setBigInt64(offset, 2n ** 40n, true)
  }
  expect(() => streamToFile(stream, 2 ** 50)).toThrow(/claims 1099511627776 bytes/)
})

function batchOf(stream: Uint8Array) {
  const batch = Array.from(readFrames(stream)).find((frame) => frame.kind === 'batch')
  if (batch === undefined) throw new Error('no batch')
  expect(int64Field(batch.header, 0)).toBeGreaterThan(0)
  return batch
}
