import { hash } from 'node:crypto'
import type { UploadFacts } from '../../audit/records.ts'
import { continuation, prefixLength, readMessage } from '../../lib/arrow/message.ts'
import { readSchema } from '../../lib/arrow/schema.ts'
import { schemaText } from './arrow-schema-text.ts'

/** Beyond these a header is not read: that of a schema is decoded, that of a batch grows with its columns. */
const maximumSchemaBytes = 1024 * 1024
const maximumHeaderBytes = 8 * 1024 * 1024

/**
 * Counts what an Arrow IPC stream holds while it passes, by the headers of its messages alone: no data is decoded, and
 * none copied but a header that comes in several pieces. It never throws and never changes a byte; from the first
 * thing on that it cannot read it only counts bytes. What a header claims is not held against the data.
 */
export class ArrowMeter {
  #bytes = 0
  #batches = 0
  #rows = 0
  #schema: string | undefined
  #unread: string | undefined
  /** What is next: the prefix of a message, its header, its body, or nothing after the end of the stream. */
  #expects: 'prefix' | 'header' | 'body' | 'end' = 'prefix'
  /** The bytes of it that are still to come. */
  #left = prefixLength
  /** The pieces of a prefix or header that have come. */
  #begun: Buffer[] = []

  /** Reads the next piece; it need not stay as it is afterwards. */
  push(piece: Buffer): void {
    this.#bytes += piece.length
    if (this.#unread !== undefined) return
    try {
      this.#read(piece)
    } catch (error) {
      // RangeError is what points outside of its message.
      this.#unread =
        error instanceof RangeError ? 'a header points outside of itself' : 'a header is malformed'
    }
    if (this.#unread !== undefined) this.#begun = []
  }

  /** What there was so far. */
  facts(): UploadFacts {
    const isWhole = this.#expects === 'end' || (this.#expects === 'prefix' && this.#left === prefixLength)
    const unread = this.#unread ?? (isWhole ? undefined : 'it is cut short')
    return {
      bytes: this.#bytes,
      batches: this.#batches,
      rows: this.#rows,
      ...(this.#schema !== undefined && { schema: this.#schema }),
      ...(unread !== undefined && { unread }),
    }
  }

  #read(piece: Buffer): void {
    for (let at = 0; at < piece.length && this.#unread === undefined;) {
      if (this.#expects === 'end') {
        this.#unread = 'bytes follow its end'
        return
      }
      const taken = piece.subarray(at, at + this.#left)
      at += taken.length
      this.#left -= taken.length
      if (this.#expects !== 'body' && (this.#left > 0 || this.#begun.length > 0)) this.#keep(taken)
      if (this.#left === 0) this.#complete(taken)
    }
  }

  /** A piece may be written over when it has been read. */
  #keep(taken: Buffer): void {
    this.#begun.push(Buffer.from(taken))
  }

  #complete(last: Buffer): void {
    const whole = this.#begun.length === 0 ? last : Buffer.concat(this.#begun)
    this.#begun = []
    if (this.#expects === 'prefix') this.#readPrefix(whole)
    else if (this.#expects === 'header') this.#readHeader(whole)
    else this.#expect('prefix', prefixLength)
  }

  #readPrefix(prefix: Buffer): void {
    const length = prefix.readInt32LE(4)
    if (prefix.readUInt32LE(0) !== continuation) {
      this.#unread =
        prefix.toString('latin1', 0, 6) === 'ARROW1' ? 'it is an Arrow file' : 'it is no Arrow stream'
    } else if (length === 0) {
      this.#expect('end', Infinity)
    } else if (length < 0 || length > maximumHeaderBytes) {
      this.#unread = `a header has ${length} bytes`
    } else {
      this.#expect('header', length)
    }
  }

  #readHeader(bytes: Buffer): void {
    const message = readMessage(bytes)
    const isFirst = this.#schema === undefined
    if (message === undefined) {
      this.#unread = isFirst ? 'it does not begin with a schema' : 'a message is of another kind'
      return
    }
    const { kind, header, bodyLength } = message
    if (bodyLength < 0 || (kind === 'schema') !== isFirst) {
      this.#unread = isFirst ? 'it does not begin with a schema' : 'a message is out of place'
    } else if (kind === 'schema' && bytes.length > maximumSchemaBytes) {
      this.#unread = `its schema has ${bytes.length} bytes`
    } else if (kind === 'schema') {
      this.#schema = hash('sha256', schemaText(readSchema(header, bytes.length)))
    } else if (kind === 'batch') {
      const rows = Number(header.length())
      this.#batches += 1
      if (rows >= 0) this.#rows += rows
      else this.#unread = 'a batch has a negative number of rows'
    }
    if (bodyLength > 0) this.#expect('body', bodyLength)
    else this.#expect('prefix', prefixLength)
  }

  #expect(what: 'prefix' | 'header' | 'body' | 'end', bytes: number): void {
    this.#expects = what
    this.#left = bytes
  }
}
