import { Field, Null, RecordBatch, Schema, Struct, Table, makeData } from 'apache-arrow'
import type { Buffer as BufferRegion } from 'apache-arrow/fb/buffer'
import type { FieldNode } from 'apache-arrow/fb/field-node'
import { expect, it } from 'vitest'
import { streamToFile } from '../../engine/arrow/arrow-file.ts'
import { readFrames, type Frame } from '../../engine/arrow/arrow-frames.ts'
import { remoteUpload } from './remote-upload.ts'
import { orders, streamOf } from './sample-tables.ts'

// An engine that trusts these claims allocates more memory than exists, which aborts the process.

it('a few bytes that claim a trillion rows of type null are refused', () => {
  const schema = new Schema([new Field('nothing', new Null(), true)])
  const children = [makeData({ type: new Null(), length: 5 })]
  const struct = makeData({ type: new Struct(schema.fields), length: 5, children })
  const stream = Buffer.from(streamOf(new Table([new RecordBatch(schema, struct)])))
  expect(streamToFile(stream, 1e9).rows).toBe(5)
  write(batchOf(stream).header.nodes(0), 0, 10n ** 12n)
  expect(() => streamToFile(stream, 1e9)).toThrow(/claims 1000000000000 values/)
})

it('a batch that claims more rows than its columns hold is refused', () => {
  const stream = Buffer.from(streamOf(orders(10)))
  write(batchOf(stream).header.nodes(0), 0, 2n ** 50n)
  expect(() => streamToFile(stream, 1e9)).toThrow(/claims 1125899906842624 values/)
})

it('a buffer outside of its body is refused', () => {
  const stream = Buffer.from(streamOf(orders(10)))
  write(batchOf(stream).header.buffers(0), 8, 2n ** 40n)
  expect(() => streamToFile(stream, 1e9)).toThrow(/has a buffer out of range/)
})

it('a compressed buffer that claims a terabyte is refused', async () => {
  const stream = Buffer.from(await remoteUpload(orders(5000)))
  const batch = batchOf(stream)
  const body = batch.bytes.subarray(batch.metadataLength)
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  for (let index = 0; index < batch.header.buffersLength(); index++) {
    const buffer = batch.header.buffers(index)
    if (Number(buffer?.length()) > 0) view.setBigInt64(Number(buffer?.offset()), 2n ** 40n, true)
  }
  expect(() => streamToFile(stream, 2 ** 50)).toThrow(/claims 1099511627776 bytes/)
})

function batchOf(stream: Uint8Array) {
  const batches: (Frame & { kind: 'batch' })[] = []
  readFrames(stream, (frame) => {
    if (frame.kind === 'batch') batches.push(frame)
  })
  const [batch] = batches
  if (batch === undefined) throw new Error('no batch')
  expect(Number(batch.header.length())).toBeGreaterThan(0)
  return batch
}

/** Overwrites a number in a struct of the metadata. */
function write(struct: FieldNode | BufferRegion | null, at: number, value: bigint): void {
  if (!struct?.bb) throw new Error('no struct')
  struct.bb.writeInt64(struct.bb_pos + at, value)
}
