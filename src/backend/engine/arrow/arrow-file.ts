import { CatalogError } from 'catalog-gateway/catalog-api'
import { measureBatch } from './arrow-batch.ts'
import { malformedArrowError, readFileFrames, readFrames, type Frame } from './arrow-frames.ts'

export interface UploadedFile {
  readonly file: Buffer
  readonly rows: number
  readonly batches: number
}

const header = Buffer.from('ARROW1\0\0')
const endOfStream = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0])

/**
 * Converts a complete Arrow IPC stream into a file with byte-identical messages, so compression, types and metadata are
 * preserved. Throws InvalidInput for anything but a stream of one schema and for impossible sizes, with status 413 above
 * `bytesLimit` decoded bytes; Unsupported for dictionaries that are replaced, which is not possible in a file.
 */
export function streamToFile(stream: Uint8Array, bytesLimit: number): UploadedFile {
  const builder = new FileBuilder(
    'a dictionary is replaced between batches; unify the dictionaries, or send the rows in several requests',
  )
  let rows = 0
  let decodedBytes = 0
  readFrames(stream, (frame) => {
    if (frame.kind !== 'schema') {
      const batch = frame.kind === 'dictionary' ? frame.header.data() : frame.header
      if (batch === null) throw malformedArrowError('a dictionary is empty')
      const size = measureBatch(batch, frame.bytes.subarray(frame.metadataLength))
      decodedBytes += size.decodedBytes
      if (decodedBytes > bytesLimit) {
        const message = `expected rows of at most ${bytesLimit} bytes when decoded; send them in several parts`
        throw new CatalogError('InvalidInput', message, { status: 413 })
      }
      if (frame.kind === 'batch') rows += size.rows
    }
    builder.add(frame)
  })
  return { file: Buffer.concat([...builder.takeChunks(), builder.finish()]), rows, batches: builder.batches }
}

/** Returns the stream of the same schema without rows. Throws InvalidInput for a malformed stream. */
export function withoutRows(stream: Uint8Array): Uint8Array {
  const chunks: Uint8Array[] = []
  readFrames(stream, ({ kind, bytes }) => {
    if (kind === 'schema') chunks.push(bytes, endOfStream)
  })
  return Buffer.concat(chunks)
}

/** Joins Arrow IPC files of one schema. Takes the next file only after the bytes of the previous one were consumed. */
export async function* joinFiles(
  first: Uint8Array,
  next: () => Promise<Uint8Array | null>,
): AsyncGenerator<Uint8Array> {
  const builder = new FileBuilder('a column of dictionary type has more than one dictionary')
  for (let file: Uint8Array | null = first; file !== null; file = await next()) {
    readFileFrames(file, (frame) => builder.add(frame))
    yield* builder.takeChunks()
  }
  yield builder.finish()
}

/** An Arrow IPC file of messages that are copied as they are. */
class FileBuilder {
  readonly #replacedMessage: string
  #schema: Frame | undefined
  readonly #chunks: Uint8Array[] = [header]
  /** Bytes so far; the position of the next message. */
  #length = header.length
  readonly #dictionaries: FileBlock[] = []
  readonly #batches: FileBlock[] = []
  /** The dictionaries by id, to detect replacements. */
  readonly #dictionaryBytes = new Map<bigint, Uint8Array>()

  constructor(replacedMessage: string) {
    this.#replacedMessage = replacedMessage
  }

  get batches(): number {
    return this.#batches.length
  }

  /** Leaves out repeated schemas and dictionaries. Throws Unsupported for a dictionary that replaces another. */
  add(frame: Frame): void {
    const { kind, bytes, metadataLength, bodyLength } = frame
    const block = { offset: this.#length, metadataLength, bodyLength }
    if (kind === 'schema') {
      if (this.#schema !== undefined) return
      this.#schema = frame
    } else if (kind === 'dictionary') {
      const id = frame.header.id()
      const existing = this.#dictionaryBytes.get(id)
      if (existing !== undefined && !frame.header.isDelta()) {
        if (Buffer.compare(existing, bytes) === 0) return
        throw new CatalogError('Unsupported', this.#replacedMessage)
      }
      if (existing === undefined) this.#dictionaryBytes.set(id, bytes)
      this.#dictionaries.push(block)
    } else {
      this.#batches.push(block)
    }
    // Messages start at multiples of 8 bytes.
    const padding = -bytes.length & 7
    this.#chunks.push(bytes)
    if (padding > 0) this.#chunks.push(Buffer.alloc(padding))
    this.#length += bytes.length + padding
  }

  takeChunks(): Uint8Array[] {
    return this.#chunks.splice(0)
  }

  finish(): Buffer {
    if (this.#schema === undefined) throw new Error('an Arrow IPC file without a schema')
    return Buffer.concat([endOfStream, buildFooter(this.#schema, this.#dictionaries, this.#batches)])
  }
}

interface FileBlock {
  readonly offset: number
  /** Bytes before the body, including the continuation marker and the length. */
  readonly metadataLength: number
  readonly bodyLength: number
}

const blockSize = 24
/** The root offset, the table's directory of four fields and the table: version, schema, two vectors. */
const tablePosition = 16
const versionPosition = 20
const schemaPosition = 24
const dictionariesPosition = 28
const batchesPosition = 32
const vectorsPosition = 36

/** The footer must repeat the schema; FlatBuffers offsets are relative, so it contains a copy of the schema message. */
function buildFooter(
  schema: Frame,
  dictionaries: readonly FileBlock[],
  batches: readonly FileBlock[],
): Buffer {
  const batchesVector = vectorsPosition + 4 + blockSize * dictionaries.length + 4
  // Blocks contain 64-bit numbers, so the first one is aligned to 8, and its length is 4 bytes before.
  const schemaMessage = align(batchesVector + 4 + blockSize * batches.length)
  const length = align(schemaMessage + schema.metadata.length)
  const footer = Buffer.alloc(length + 10)
  footer.writeUInt32LE(tablePosition, 0)
  footer.writeUInt16LE(12, 4)
  footer.writeUInt16LE(20, 6)
  for (const [field, position] of [
    versionPosition,
    schemaPosition,
    dictionariesPosition,
    batchesPosition,
  ].entries()) {
    footer.writeUInt16LE(position - tablePosition, 8 + 2 * field)
  }
  footer.writeInt32LE(tablePosition - 4, tablePosition)
  footer.writeInt16LE(schema.formatVersion, versionPosition)
  footer.writeUInt32LE(schemaMessage + schema.header.bb_pos - schemaPosition, schemaPosition)
  footer.writeUInt32LE(vectorsPosition - dictionariesPosition, dictionariesPosition)
  footer.writeUInt32LE(batchesVector - batchesPosition, batchesPosition)
  writeBlocks(footer, vectorsPosition, dictionaries)
  writeBlocks(footer, batchesVector, batches)
  footer.set(schema.metadata, schemaMessage)
  footer.writeInt32LE(length, length)
  footer.write('ARROW1', length + 4, 'latin1')
  return footer
}

function writeBlocks(footer: Buffer, position: number, blocks: readonly FileBlock[]): void {
  footer.writeUInt32LE(blocks.length, position)
  for (const [index, block] of blocks.entries()) {
    const start = position + 4 + blockSize * index
    footer.writeBigInt64LE(BigInt(block.offset), start)
    footer.writeInt32LE(block.metadataLength, start + 8)
    footer.writeBigInt64LE(BigInt(block.bodyLength), start + 16)
  }
}

function align(length: number): number {
  return (length + 7) & ~7
}
