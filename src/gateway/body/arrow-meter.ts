import { hash } from 'node:crypto'
import type { UploadFacts } from '../../audit/records/audit-record.ts'
import { continuation, prefixLength, readMessage } from '../../lib/arrow/message.ts'
import { readSchema } from '../../lib/arrow/schema.ts'
import { formatSchemaFields } from './arrow-schema-text.ts'

/** Larger headers are not read: a schema header is decoded, and a batch header grows with its columns. */
const maxSchemaBytes = 1024 * 1024
const maxHeaderBytes = 8 * 1024 * 1024

/**
 * Measures an Arrow IPC stream in passing, from its message headers alone: no data is decoded, and none is copied
 * except a header that spans several chunks. It never throws and never changes a byte; after the first invalid message
 * it only counts bytes. The claims of a header are not verified against the data.
 */
export class ArrowMeter {
  #bytes = 0
  #batches = 0
  #rows = 0
  #schema: string | undefined
  #problem: string | undefined
  /** The part that is parsed next; `end` after the end of the stream. */
  #expectedPart: 'prefix' | 'header' | 'body' | 'end' = 'prefix'
  /** Bytes of that part that are missing. */
  #remainingBytes = prefixLength
  /** Received chunks of an incomplete prefix or header. */
  #partialChunks: Buffer[] = []

  /** Reads the next chunk. The chunk is not used after the call. */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#problem !== undefined) return
    try {
      this.#read(chunk)
    } catch (error) {
      // Offsets outside of the message throw RangeError.
      this.#problem =
        error instanceof RangeError ? 'a header has an offset out of range' : 'a header is malformed'
    }
    if (this.#problem !== undefined) this.#partialChunks = []
  }

  /** Returns the facts measured so far. */
  getFacts(): UploadFacts {
    const isWhole =
      this.#expectedPart === 'end' ||
      (this.#expectedPart === 'prefix' && this.#remainingBytes === prefixLength)
    const unread = this.#problem ?? (isWhole ? undefined : 'truncated')
    return {
      bytes: this.#bytes,
      batches: this.#batches,
      rows: this.#rows,
      ...(this.#schema !== undefined && { schema: this.#schema }),
      ...(unread !== undefined && { unread }),
    }
  }

  #read(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && this.#problem === undefined;) {
      if (this.#expectedPart === 'end') {
        this.#problem = 'data after the end of the stream'
        return
      }
      const taken = chunk.subarray(at, at + this.#remainingBytes)
      at += taken.length
      this.#remainingBytes -= taken.length
      if (this.#expectedPart !== 'body' && (this.#remainingBytes > 0 || this.#partialChunks.length > 0))
        this.#savePartial(taken)
      if (this.#remainingBytes === 0) this.#completePart(taken)
    }
  }

  /** Copies the chunk: its memory is reused. */
  #savePartial(taken: Buffer): void {
    this.#partialChunks.push(Buffer.from(taken))
  }

  #completePart(last: Buffer): void {
    const whole = this.#partialChunks.length === 0 ? last : Buffer.concat(this.#partialChunks)
    this.#partialChunks = []
    if (this.#expectedPart === 'prefix') this.#readPrefix(whole)
    else if (this.#expectedPart === 'header') this.#readHeader(whole)
    else this.#expect('prefix', prefixLength)
  }

  #readPrefix(prefix: Buffer): void {
    const length = prefix.readInt32LE(4)
    if (prefix.readUInt32LE(0) !== continuation) {
      this.#problem =
        prefix.toString('latin1', 0, 6) === 'ARROW1' ? 'an Arrow file, not a stream' : 'not an Arrow stream'
    } else if (length === 0) {
      this.#expect('end', Infinity)
    } else if (length < 0 || length > maxHeaderBytes) {
      this.#problem = `a header has ${length} bytes`
    } else {
      this.#expect('header', length)
    }
  }

  #readHeader(bytes: Buffer): void {
    const message = readMessage(bytes)
    const isFirst = this.#schema === undefined
    if (message === undefined) {
      this.#problem = isFirst ? 'no schema at the start' : 'unknown message type'
      return
    }
    const { kind, header, bodyLength } = message
    if (bodyLength < 0 || (kind === 'schema') !== isFirst) {
      this.#problem = isFirst ? 'no schema at the start' : 'unexpected message'
    } else if (kind === 'schema' && bytes.length > maxSchemaBytes) {
      this.#problem = `the schema has ${bytes.length} bytes`
    } else if (kind === 'schema') {
      this.#schema = hash('sha256', formatSchemaFields(readSchema(header, bytes.length)))
    } else if (kind === 'batch') {
      const rows = Number(header.length())
      this.#batches += 1
      if (rows >= 0) this.#rows += rows
      else this.#problem = 'a batch has a negative number of rows'
    }
    if (bodyLength > 0) this.#expect('body', bodyLength)
    else this.#expect('prefix', prefixLength)
  }

  #expect(what: 'prefix' | 'header' | 'body' | 'end', bytes: number): void {
    this.#expectedPart = what
    this.#remainingBytes = bytes
  }
}
