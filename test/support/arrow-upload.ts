import { Field, Int32, RecordBatchStreamWriter, Schema, Table } from 'apache-arrow'
import { KeyValue } from 'apache-arrow/fb/key-value'
import { Message } from 'apache-arrow/fb/message'
import { MessageHeader } from 'apache-arrow/fb/message-header'
import { MetadataVersion } from 'apache-arrow/fb/metadata-version'
import { RecordBatch } from 'apache-arrow/fb/record-batch'
import { Builder } from 'flatbuffers'

/** Encodes an Arrow IPC stream of a schema without rows. */
export function schemaStream(schema: Schema): Buffer {
  return Buffer.from(RecordBatchStreamWriter.writeAll(new Table(schema, [])).toUint8Array(true))
}

/** An Arrow IPC stream of one column without rows. */
export const arrowUpload = schemaStream(new Schema([new Field('a', new Int32(), true)]))

/** Size of the optional marker at the end of a stream. */
export const endOfStreamBytes = 8

/** Encodes the metadata of a record batch without columns, with its prefix, as one message. */
export function batchMessage(bodyLength: number, ownMetadata: Readonly<Record<string, string>> = {}): Buffer {
  const builder = new Builder()
  const pairs = Object.entries(ownMetadata).map(([key, value]) =>
    KeyValue.createKeyValue(builder, builder.createString(key), builder.createString(value)),
  )
  const own = Message.createCustomMetadataVector(builder, pairs)
  RecordBatch.startNodesVector(builder, 0)
  const nodes = builder.endVector()
  RecordBatch.startBuffersVector(builder, 0)
  const buffers = builder.endVector()
  RecordBatch.startRecordBatch(builder)
  RecordBatch.addNodes(builder, nodes)
  RecordBatch.addBuffers(builder, buffers)
  const batch = RecordBatch.endRecordBatch(builder)
  Message.startMessage(builder)
  Message.addVersion(builder, MetadataVersion.V5)
  Message.addHeaderType(builder, MessageHeader.RecordBatch)
  Message.addHeader(builder, batch)
  Message.addBodyLength(builder, BigInt(bodyLength))
  Message.addCustomMetadata(builder, own)
  builder.finish(Message.endMessage(builder))
  const metadata = builder.asUint8Array()
  const message = Buffer.alloc(8 + Math.ceil(metadata.length / 8) * 8)
  message.writeUInt32LE(0xffffffff, 0)
  message.writeInt32LE(message.length - 8, 4)
  message.set(metadata, 8)
  return message
}

/** The beginning of an Arrow IPC stream whose last message takes any bytes that follow. */
export const arrowStart = Buffer.concat([
  arrowUpload.subarray(0, -endOfStreamBytes),
  batchMessage(Number.MAX_SAFE_INTEGER),
])

/** Creates the beginning of an Arrow IPC stream with this size. */
export function arrowBytes(size: number, fill = 'x'): Buffer {
  return Buffer.concat([arrowStart, Buffer.alloc(Math.max(0, size - arrowStart.length), fill)], size)
}
