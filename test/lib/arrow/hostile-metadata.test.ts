import { Field } from 'apache-arrow/fb/field'
import { Message } from 'apache-arrow/fb/message'
import { MessageHeader } from 'apache-arrow/fb/message-header'
import { MetadataVersion } from 'apache-arrow/fb/metadata-version'
import { RecordBatch } from 'apache-arrow/fb/record-batch'
import { Schema } from 'apache-arrow/fb/schema'
import { Struct_ } from 'apache-arrow/fb/struct-'
import { Type } from 'apache-arrow/fb/type'
import { Utf8 } from 'apache-arrow/fb/utf8'
import { Builder } from 'flatbuffers'
import { expect, it } from 'vitest'
import { readMessage } from '../../../src/arrow/messages.ts'
import { readSchema } from '../../../src/arrow/schema.ts'

/** The offset of the vector of fields in the vtable of a schema. */
const fieldsSlot = 6

function messageOf(builder: Builder, type: MessageHeader, header: number): Buffer {
  Message.finishMessageBuffer(
    builder,
    Message.createMessage(builder, MetadataVersion.V5, type, header, 0n, 0),
  )
  return Buffer.from(builder.asUint8Array())
}

function schemaMessage(builder: Builder, fields: number[]): Buffer {
  const vector = Schema.createFieldsVector(builder, fields)
  Schema.startSchema(builder)
  Schema.addFields(builder, vector)
  return messageOf(builder, MessageHeader.Schema, Schema.endSchema(builder))
}

function addField(builder: Builder, name: string, children?: number[]): number {
  const nameOffset = builder.createString(name)
  const vector = children && Field.createChildrenVector(builder, children)
  if (vector === undefined) Utf8.startUtf8(builder)
  else Struct_.startStruct_(builder)
  const type = vector === undefined ? Utf8.endUtf8(builder) : Struct_.endStruct_(builder)
  Field.startField(builder)
  Field.addName(builder, nameOffset)
  Field.addTypeType(builder, vector === undefined ? Type.Utf8 : Type.Struct_)
  Field.addType(builder, type)
  if (vector !== undefined) Field.addChildren(builder, vector)
  return Field.endField(builder)
}

/** A schema of one column with `levels` levels, each naming the next one `times` times. */
function nested(levels: number, times: number): Buffer {
  const builder = new Builder()
  let field = addField(builder, 'leaf')
  for (let level = 1; level < levels; level += 1) {
    field = addField(builder, 'struct', Array<number>(times).fill(field))
  }
  return schemaMessage(builder, [field])
}

function headerOf(metadata: Buffer): Schema {
  const message = readMessage(metadata)
  if (message?.kind !== 'schema') throw new Error('no schema')
  return message.header
}

it('a vector that claims two million fields is refused', () => {
  const metadata = nested(1, 1)
  const { bb, bb_pos: table } = headerOf(metadata)
  if (bb === null) throw new Error('no buffer')
  const vector = bb.__vector(table + bb.__offset(table, fieldsSlot))
  bb.writeInt32(vector - 4, 2_000_000)
  expect(() => readSchema(headerOf(metadata), metadata.length)).toThrow(RangeError)
})

it('a schema that refers to its parts many times is refused', () => {
  const metadata = nested(20, 10)
  expect(metadata.length).toBeLessThan(5_000)
  expect(() => readSchema(headerOf(metadata), metadata.length)).toThrow(/larger than its message/)
})

it('a schema has at most 64 levels', () => {
  const [deepest, deeper] = [nested(64, 1), nested(65, 1)]
  expect(readSchema(headerOf(deepest), deepest.length).fields).toHaveLength(1)
  expect(() => readSchema(headerOf(deeper), deeper.length)).toThrow(/nested too deeply/)
})

it('a vtable of more than 32 KiB hides no field', () => {
  const builder = new Builder()
  RecordBatch.startRecordBatch(builder)
  RecordBatch.addLength(builder, 5n)
  const small = messageOf(builder, MessageHeader.RecordBatch, RecordBatch.endRecordBatch(builder))
  const table = readMessage(small)?.header.bb_pos ?? -1
  const vtable = table - small.readInt32LE(table)
  const large = Buffer.concat([small, Buffer.alloc(40_000)])
  small.copy(large, small.length, vtable, vtable + small.readUInt16LE(vtable))
  large.writeUInt16LE(40_000, small.length)
  large.writeInt32LE(table - small.length, table)
  const message = readMessage(large)
  expect(message?.kind === 'batch' && message.header.length()).toBe(5n)
})

it('names that differ by a byte order mark stay different', () => {
  const builder = new Builder()
  const metadata = schemaMessage(builder, [addField(builder, 'a'), addField(builder, '\uFEFFa')])
  const { fields } = readSchema(headerOf(metadata), metadata.length)
  expect(fields.map(({ name }) => name)).toEqual(['a', '\uFEFFa'])
})
