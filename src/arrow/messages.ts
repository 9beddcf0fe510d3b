import { ByteBuffer, type Table } from 'flatbuffers'
import { DictionaryBatch } from 'apache-arrow/fb/dictionary-batch'
import { Message } from 'apache-arrow/fb/message'
import { MessageHeader } from 'apache-arrow/fb/message-header'
import { RecordBatch } from 'apache-arrow/fb/record-batch'
import { Schema } from 'apache-arrow/fb/schema'

/**
 * A FlatBuffers buffer for generated code that reads untrusted input. Any access outside of the bytes, and any vector
 * whose claimed length does not fit, throws RangeError; `ByteBuffer` reads zeros there and trusts every length. Vtable
 * offsets and sizes are unsigned, as the format requires, so that all readers find the same fields.
 */
export class CheckedBuffer extends ByteBuffer {
  readonly #view: DataView

  constructor(bytes: Uint8Array) {
    super(bytes)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  override readUint8(offset: number): number {
    return this.#view.getUint8(offset)
  }

  override readUint16(offset: number): number {
    return this.#view.getUint16(offset, true)
  }

  override readInt32(offset: number): number {
    return this.#view.getInt32(offset, true)
  }

  override readInt64(offset: number): bigint {
    return this.#view.getBigInt64(offset, true)
  }

  override __offset(table: number, slot: number): number {
    const vtable = table - this.readInt32(table)
    return slot + 2 <= this.readUint16(vtable) ? this.readUint16(vtable + slot) : 0
  }

  override __indirect(offset: number): number {
    const target = offset + this.readUint32(offset)
    this.#assertWithin(target + 4)
    return target
  }

  override __union(table: Table, offset: number): Table {
    table.bb_pos = this.__indirect(offset)
    table.bb = this
    return table
  }

  override __string(offset: number): string {
    const start = this.__indirect(offset) + 4
    const length = this.readUint32(start - 4)
    this.#assertWithin(start + length)
    // TextDecoder would drop a byte order mark and make two names equal.
    return Buffer.from(this.#view.buffer, this.#view.byteOffset + start, length).toString()
  }

  override __vector(offset: number): number {
    return this.__indirect(offset) + 4
  }

  override __vector_len(offset: number): number {
    const start = this.__vector(offset)
    const length = this.readUint32(start - 4)
    // No element of an Arrow message is smaller than an offset.
    this.#assertWithin(start + 4 * length)
    return length
  }

  #assertWithin(end: number): void {
    if (end > this.#view.byteLength) throw new RangeError('the message points outside of itself')
  }
}

/** First four bytes of every message of an Arrow IPC stream; the length of its metadata (int32) follows. */
export const continuation = 0xffffffff

export const prefixLength = 8

export type ArrowMessage = NonNullable<ReturnType<typeof readMessage>>

/**
 * Reads the metadata of a message, without prefix and body; safe for untrusted input. The length of the body is as claimed: it
 * may be negative, or larger than the body. Undefined unless the message is a schema, dictionary or record batch. Throws
 * RangeError for offsets outside of the message, and so does reading the header.
 */
export function readMessage(metadata: Uint8Array) {
  const message = Message.getRootAsMessage(new CheckedBuffer(metadata))
  const basics = { formatVersion: message.version(), bodyLength: Number(message.bodyLength()) }
  const read = <Kind extends string, Header>(kind: Kind, empty: Header) => {
    const header: Header | null = message.header(empty)
    return header === null ? undefined : { ...basics, kind, header }
  }
  const type = message.headerType()
  if (type === MessageHeader.Schema) return read('schema', new Schema())
  if (type === MessageHeader.DictionaryBatch) return read('dictionary', new DictionaryBatch())
  return type === MessageHeader.RecordBatch ? read('batch', new RecordBatch()) : undefined
}

/** Larger metadata is refused: that of a schema is decoded, and that of a batch grows with its columns. */
const maxSchemaBytes = 1024 * 1024
export const maxMetadataBytes = 8 * 1024 * 1024

/** Saved chunks below this size are joined: a chunk takes more memory than its bytes. */
const minSavedBytes = 512

/**
 * Splits an Arrow IPC stream that arrives in chunks into its messages. Nothing is copied except metadata that spans several
 * chunks, and bodies are not read: metadata is not verified against the data. Safe for untrusted input.
 */
export class MessageFrames {
  /** Whether the schema has been handled. */
  hasSchema = false
  /** Total length of `#partialChunks`. */
  heldBytes = 0
  readonly #onMessage: (message: ArrowMessage, metadata: Buffer) => void
  readonly #maxRestBytes: number
  /** The part that is read next; `rest` after the mark of the end. */
  #expectedPart: 'prefix' | 'metadata' | 'body' | 'rest' = 'prefix'
  /** Bytes of that part that are missing. */
  #remainingBytes = prefixLength
  /** Received chunks of an incomplete prefix or metadata, or of the rest. */
  #partialChunks: Buffer[] = []

  /**
   * `onMessage` gets each message and its metadata, without prefix, which it may change in place. `maxRestBytes` may follow the
   * mark of the end.
   */
  constructor(onMessage: (message: ArrowMessage, metadata: Buffer) => void, maxRestBytes = 0) {
    this.#onMessage = onMessage
    this.#maxRestBytes = maxRestBytes
  }

  /** Whether the stream may end here. */
  get isWhole(): boolean {
    return (
      this.#expectedPart === 'rest' ||
      (this.#expectedPart === 'prefix' && this.#remainingBytes === prefixLength)
    )
  }

  /** Returns the bytes after the mark of the end. */
  takeRest(): Buffer {
    return this.#expectedPart === 'rest' ? Buffer.concat(this.#partialChunks) : Buffer.alloc(0)
  }

  /**
   * Reads the next chunk, and returns the bytes before the rest, as far as their metadata has been handled: parts of the
   * chunk, or copies. Throws RangeError if the bytes so far begin no Arrow IPC stream with one schema at its start, and
   * the errors of `onMessage`.
   */
  push(chunk: Buffer): readonly Buffer[] {
    const passed: Buffer[] = []
    let from = 0
    let at = 0
    while (at < chunk.length) {
      if (this.#expectedPart === 'rest') {
        if (this.heldBytes + chunk.length - at > this.#maxRestBytes)
          throw new RangeError('data after the end of the stream')
        this.#savePartial(chunk.subarray(at))
        break
      }
      const taken = chunk.subarray(at, at + this.#remainingBytes)
      const isPartial = taken.length < this.#remainingBytes || this.#partialChunks.length > 0
      at += taken.length
      this.#remainingBytes -= taken.length
      if (this.#expectedPart === 'body') {
        if (this.#remainingBytes === 0) this.#expect('prefix', prefixLength)
      } else if (isPartial) {
        if (this.#partialChunks.length === 0) passed.push(chunk.subarray(from, at - taken.length))
        from = at
        this.#savePartial(taken)
        if (this.#remainingBytes === 0) passed.push(this.#completePart(Buffer.concat(this.#partialChunks)))
      } else {
        this.#completePart(taken)
      }
    }
    passed.push(chunk.subarray(from, at))
    return passed.filter((bytes) => bytes.length > 0)
  }

  /** Copies the chunk: its memory is reused. */
  #savePartial(taken: Buffer): void {
    this.heldBytes += taken.length
    const last = this.#partialChunks.at(-1)
    if (last === undefined || last.length >= minSavedBytes) this.#partialChunks.push(Buffer.from(taken))
    else this.#partialChunks[this.#partialChunks.length - 1] = Buffer.concat([last, taken])
  }

  #completePart(whole: Buffer): Buffer {
    this.#partialChunks = []
    this.heldBytes = 0
    if (this.#expectedPart === 'prefix') this.#readPrefix(whole)
    else this.#readMetadata(whole)
    return whole
  }

  #readPrefix(prefix: Buffer): void {
    const length = prefix.readInt32LE(4)
    if (prefix.readUInt32LE(0) !== continuation) {
      const isFile = prefix.toString('latin1', 0, 6) === 'ARROW1'
      throw new RangeError(isFile ? 'an Arrow file, not a stream' : 'not an Arrow stream')
    }
    if (length === 0 && !this.hasSchema) throw new RangeError('no schema at the start')
    if (length < 0 || length > (this.hasSchema ? maxMetadataBytes : maxSchemaBytes))
      throw new RangeError(`a header has ${length} bytes`)
    if (length === 0) this.#expect('rest', Infinity)
    else this.#expect('metadata', length)
  }

  #readMetadata(metadata: Buffer): void {
    const message = readMessage(metadata)
    const isFirst = !this.hasSchema
    if (message === undefined)
      throw new RangeError(isFirst ? 'no schema at the start' : 'unknown message type')
    const { kind, bodyLength } = message
    const isMisplaced = (kind === 'schema') !== isFirst || (kind === 'schema' && bodyLength !== 0)
    if (bodyLength < 0 || isMisplaced)
      throw new RangeError(isFirst ? 'no schema at the start' : 'unexpected message')
    this.#onMessage(message, metadata)
    this.hasSchema = true
    if (bodyLength > 0) this.#expect('body', bodyLength)
    else this.#expect('prefix', prefixLength)
  }

  #expect(what: 'prefix' | 'metadata' | 'body' | 'rest', bytes: number): void {
    this.#expectedPart = what
    this.#remainingBytes = bytes
  }
}
