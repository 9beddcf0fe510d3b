import { hash } from 'node:crypto'
import type { UploadFacts } from '../../audit/records/audit-record.ts'
import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { continuation, prefixLength, readMessage } from '../../lib/arrow/message.ts'
import { readSchema, type ArrowSchema } from '../../lib/arrow/schema.ts'
import { formatSchemaFields } from './arrow-schema-text.ts'

/** Larger headers are refused: a schema header is decoded, and a batch header grows with its columns. */
const maxSchemaBytes = 1024 * 1024
const maxHeaderBytes = 8 * 1024 * 1024

/** Saved chunks below this size are joined: a chunk takes more memory than its bytes. */
const minSavedBytes = 512

/** Returns the extension types of a schema whose values can refer to other objects. Throws CatalogError to refuse it. */
type CheckSchema = (schema: ArrowSchema) => readonly string[]

/**
 * Checks and measures an Arrow IPC stream in passing, from its message headers alone: no data is decoded, and none is
 * copied except a header that spans several chunks. It never changes a byte. The claims of a header are not verified
 * against the data.
 */
export class ArrowMeter {
  readonly #checkSchema: CheckSchema
  #references: readonly string[] = []
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

  constructor(checkSchema: CheckSchema) {
    this.#checkSchema = checkSchema
  }

  /** Whether the schema has been read and checked. */
  get hasSchema(): boolean {
    return this.#schema !== undefined
  }

  /** Extension types in the schema whose values can refer to other objects. */
  get references(): readonly string[] {
    return this.#references
  }

  /**
   * Reads the next chunk. The chunk is not used after the call. Throws InvalidInput (400) if the bytes so far begin no
   * Arrow IPC stream with one schema, which some reader could understand otherwise, and the error of the check.
   */
  push(chunk: Buffer): void {
    this.#bytes += chunk.length
    try {
      this.#read(chunk)
    } catch (error) {
      if (error instanceof CatalogError) throw error
      this.#problem = error instanceof RangeError ? error.message : 'a header is malformed'
    }
    if (this.#problem === undefined) return
    this.#partialChunks = []
    throw refusal('malformed_body', `the body is not an Arrow IPC stream that can be read: ${this.#problem}`)
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
      ...(this.#references.length > 0 && { references: this.#references }),
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
    const last = this.#partialChunks.at(-1)
    if (last === undefined || last.length >= minSavedBytes) this.#partialChunks.push(Buffer.from(taken))
    else this.#partialChunks[this.#partialChunks.length - 1] = Buffer.concat([last, taken])
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
    } else if (length === 0 && this.hasSchema) {
      this.#expect('end', Infinity)
    } else if (length === 0) {
      this.#problem = 'no schema at the start'
    } else if (length < 0 || length > (this.hasSchema ? maxHeaderBytes : maxSchemaBytes)) {
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
    const isMisplaced = (kind === 'schema') !== isFirst || (kind === 'schema' && bodyLength !== 0)
    if (bodyLength < 0 || isMisplaced) {
      this.#problem = isFirst ? 'no schema at the start' : 'unexpected message'
    } else if (kind === 'schema') {
      const schema = readSchema(header, bytes.length)
      this.#references = this.#checkSchema(schema)
      this.#schema = hash('sha256', formatSchemaFields(schema))
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
