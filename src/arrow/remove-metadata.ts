import type { Field } from 'apache-arrow/fb/field'
import { Footer } from 'apache-arrow/fb/footer'
import { Message } from 'apache-arrow/fb/message'
import { MessageHeader } from 'apache-arrow/fb/message-header'
import { Schema } from 'apache-arrow/fb/schema'
import type { ByteBuffer } from 'flatbuffers'
import { CheckedBuffer } from './messages.ts'

/** Slots of `custom_metadata` in the tables of Message.fbs, Schema.fbs and File.fbs, and of the texts of a KeyValue. */
const slots = { message: 12, schema: 8, field: 16, footer: 12, key: 4, value: 6 }

/** Keys of fields that say how their values are to be read. */
const extensionKeys: ReadonlySet<string> = new Set(['ARROW:extension:name', 'ARROW:extension:metadata'])
const noKeys: ReadonlySet<string> = new Set()

/** In bytes: the length of the footer, and the magic. */
const footerEndLength = 10

/**
 * Removes the metadata of a message, and that of its schema and fields except extension types, in place: the length stays,
 * and zeros replace the removed bytes. The schema must have been read before (`readSchema`), which bounds the work. Throws
 * RangeError for offsets outside of the message.
 */
export function removeMessageMetadata(metadata: Uint8Array): void {
  const buffer = new CheckedBuffer(metadata)
  const message = Message.getRootAsMessage(buffer)
  removePairs(buffer, message.bb_pos, slots.message, noKeys)
  if (message.headerType() === MessageHeader.Schema)
    removeSchemaMetadata(buffer, message.header(new Schema()))
}

/** Returns the footer of an Arrow file with the bytes that follow it. Throws RangeError if it is none. */
export function openFooter(bytes: Buffer): Footer {
  const length = bytes.length - footerEndLength
  if (length < 8 || bytes.readInt32LE(length) !== length || !bytes.subarray(-6).equals(Buffer.from('ARROW1')))
    throw new RangeError('an Arrow file without a footer')
  return Footer.getRootAsFooter(new CheckedBuffer(bytes.subarray(0, length)))
}

/** Removes the metadata of a footer as that of a message. */
export function removeFooterMetadata(footer: Footer): void {
  if (footer.bb === null) return
  removePairs(footer.bb, footer.bb_pos, slots.footer, noKeys)
  removeSchemaMetadata(footer.bb, footer.schema())
}

function removeSchemaMetadata(buffer: ByteBuffer, schema: Schema | null): void {
  if (schema === null) return
  removePairs(buffer, schema.bb_pos, slots.schema, noKeys)
  for (let index = 0; index < schema.fieldsLength(); index += 1)
    removeFieldMetadata(buffer, schema.fields(index))
}

function removeFieldMetadata(buffer: ByteBuffer, field: Field | null): void {
  if (field === null) return
  removePairs(buffer, field.bb_pos, slots.field, extensionKeys)
  for (let index = 0; index < field.childrenLength(); index += 1)
    removeFieldMetadata(buffer, field.children(index))
}

/** Leaves the pairs with these keys at the start of their vector, and shortens it. */
function removePairs(buffer: ByteBuffer, table: number, slot: number, retained: ReadonlySet<string>): void {
  const offset = buffer.__offset(table, slot)
  if (offset === 0) return
  const length = buffer.__vector_len(table + offset)
  const start = buffer.__vector(table + offset)
  let end = start
  let cleared = 0
  for (let at = start; at < start + 4 * length; at += 4) {
    const pair = buffer.__indirect(at)
    if (retained.has(readText(buffer, pair, slots.key))) {
      buffer.writeInt32(end, pair - end)
      end += 4
    } else {
      cleared += clearText(buffer, pair, slots.key) + clearText(buffer, pair, slots.value)
      // Pairs may share their texts.
      if (cleared > buffer.capacity()) throw new RangeError('the metadata is larger than its message')
    }
  }
  buffer.bytes().fill(0, end, start + 4 * length)
  buffer.writeInt32(start - 4, (end - start) / 4)
}

function readText(buffer: ByteBuffer, pair: number, slot: number): string {
  const offset = buffer.__offset(pair, slot)
  return offset === 0 ? '' : String(buffer.__string(pair + offset))
}

/** Returns the length of the text. */
function clearText(buffer: ByteBuffer, pair: number, slot: number): number {
  const offset = buffer.__offset(pair, slot)
  if (offset === 0) return 0
  const start = buffer.__indirect(pair + offset)
  const length = buffer.readUint32(start)
  buffer.bytes().fill(0, start + 4, start + 4 + length)
  return length
}
