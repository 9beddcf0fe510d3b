import { DictionaryBatch } from 'apache-arrow/fb/dictionary-batch'
import { Message } from 'apache-arrow/fb/message'
import { MessageHeader } from 'apache-arrow/fb/message-header'
import { RecordBatch } from 'apache-arrow/fb/record-batch'
import { Schema } from 'apache-arrow/fb/schema'
import { CheckedBuffer } from './checked-buffer.ts'

/** Metadata of an Arrow IPC message. Reading the header throws RangeError for offsets outside of the message. */
export type ArrowMessage = MessageBasics &
  (
    | { readonly kind: 'schema'; readonly header: Schema }
    | { readonly kind: 'dictionary'; readonly header: DictionaryBatch }
    | { readonly kind: 'batch'; readonly header: RecordBatch }
  )

interface MessageBasics {
  readonly formatVersion: number
  /** As claimed: it may be negative, or larger than the body. */
  readonly bodyLength: number
}

/** First four bytes of every message of an Arrow IPC stream; the length of its metadata (int32) follows. */
export const continuation = 0xffffffff

export const prefixLength = 8

/**
 * Reads the metadata of a message, without prefix and body; safe for untrusted input. Undefined unless the message is a
 * schema, dictionary or record batch. Throws RangeError for offsets outside of the message.
 */
export function readMessage(metadata: Uint8Array): ArrowMessage | undefined {
  const message = Message.getRootAsMessage(new CheckedBuffer(metadata))
  const basics = { formatVersion: message.version(), bodyLength: Number(message.bodyLength()) }
  const type = message.headerType()
  if (type === MessageHeader.Schema) {
    const header: Schema | null = message.header(new Schema())
    return header === null ? undefined : { ...basics, kind: 'schema', header }
  }
  if (type === MessageHeader.DictionaryBatch) {
    const header: DictionaryBatch | null = message.header(new DictionaryBatch())
    return header === null ? undefined : { ...basics, kind: 'dictionary', header }
  }
  if (type === MessageHeader.RecordBatch) {
    const header: RecordBatch | null = message.header(new RecordBatch())
    return header === null ? undefined : { ...basics, kind: 'batch', header }
  }
  return undefined
}
