import { Block } from 'apache-arrow/fb/block'
import { CompressionType } from 'apache-arrow/fb/compression-type'
import { Footer } from 'apache-arrow/fb/footer'
import type { RecordBatch } from 'apache-arrow/fb/record-batch'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { Builder } from 'flatbuffers'
import { malformedArrowError, readFileFrames, readFrames, type Frame } from './arrow-frames.ts'

export type UploadedFile = ReturnType<typeof streamToFile>

const header = Buffer.from('ARROW1\0\0')
const endOfStream = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0])

/**
 * Converts a complete Arrow IPC stream into a file with byte-identical messages, so compression, types and metadata are
 * preserved. Throws InvalidInput for anything but a stream of one schema and for impossible sizes, with status 413 above
 * `bytesLimit` decoded bytes; Unsupported for dictionaries that are replaced, which is not possible in a file.
 */
export function streamToFile(stream: Uint8Array, bytesLimit: number) {
  const builder = new FileBuilder()
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

/** The maximum expansion of an LZ4 block. */
const lz4Ratio = 255
/** The row limit for columns without bytes (type null). */
const emptyRows = 1 << 20

/**
 * The header determines how much memory the engine allocates, and an excessive allocation aborts the process. So each
 * buffer must lie within the body and expand no more than its compression allows, and no column may claim more rows
 * than it can hold.
 */
function measureBatch(batch: RecordBatch, body: Buffer) {
  const decodedBytes = measureBuffers(batch, body)
  const rowsLimit = decodedBytes * 8 + emptyRows
  const rows = Number(batch.length())
  if (rows < 0 || rows > rowsLimit)
    throw malformedArrowError(`a record batch claims ${rows} rows, more than it contains`)
  const columns = batch.nodesLength()
  for (let index = 0; index < columns; index++) {
    const length = Number(batch.nodes(index)?.length() ?? -1)
    if (length < 0 || length > rowsLimit)
      throw malformedArrowError(`a column claims ${length} values, more than it contains`)
  }
  return { rows, decodedBytes }
}

function measureBuffers(batch: RecordBatch, body: Buffer): number {
  const codec = batch.compression()?.codec()
  const buffers = batch.buffersLength()
  let decodedBytes = 0
  for (let index = 0; index < buffers; index++) {
    const buffer = batch.buffers(index)
    const offset = Number(buffer?.offset() ?? -1)
    const length = Number(buffer?.length() ?? -1)
    if (offset < 0 || length < 0 || offset + length > body.length) {
      throw malformedArrowError('a record batch has a buffer out of range')
    }
    decodedBytes +=
      codec === undefined || length === 0 ? length : readDecodedLength(body, offset, length, codec)
  }
  return decodedBytes
}

/** A compressed buffer starts with its decoded length; -1 means that it is stored uncompressed. */
function readDecodedLength(body: Buffer, offset: number, length: number, codec: CompressionType): number {
  if (length < 8) throw malformedArrowError('truncated compressed buffer')
  const claimed = Number(body.readBigInt64LE(offset))
  if (claimed === -1) return length - 8
  if (claimed < 0 || (codec === CompressionType.LZ4_FRAME && claimed > length * lz4Ratio)) {
    throw malformedArrowError(`a compressed buffer claims ${claimed} bytes, more than possible`)
  }
  return claimed
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
export async function* joinFiles(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  const builder = new FileBuilder()
  for (const frame of readFileFrames(first)) builder.add(frame)
  yield* builder.takeChunks()
  for await (const file of rest) {
    for (const frame of readFileFrames(file)) builder.add(frame)
    yield* builder.takeChunks()
  }
  yield builder.finish()
}

/** An Arrow IPC file of messages that are copied as they are. */
class FileBuilder {
  #schema: Frame | undefined
  readonly #chunks: Uint8Array[] = [header]
  /** Bytes so far; the position of the next message. */
  #length = header.length
  readonly #dictionaries: FileBlock[] = []
  readonly #batches: FileBlock[] = []
  /** The dictionaries by id, to detect replacements. */
  readonly #dictionaryBytes = new Map<bigint, Uint8Array>()

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
        const message =
          'a dictionary is replaced between batches; unify the dictionaries, or use several requests'
        throw new CatalogError('Unsupported', message)
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

/** Where a message is in the file. */
type FileBlock = Pick<Frame, 'metadataLength' | 'bodyLength'> & { readonly offset: number }

/** The footer must repeat the schema; FlatBuffers offsets are relative, so it contains a copy of the schema message. */
function buildFooter(
  { metadata, header, formatVersion }: Frame,
  dictionaries: readonly FileBlock[],
  batches: readonly FileBlock[],
): Buffer {
  const builder = new Builder()
  // The alignment of a message.
  builder.prep(8, metadata.length)
  // Offsets count from the end; that of a vector is of its length, before its bytes.
  const message = builder.createByteVector(metadata) - 4
  Footer.startDictionariesVector(builder, dictionaries.length)
  const dictionariesVector = endBlocks(builder, dictionaries)
  Footer.startRecordBatchesVector(builder, batches.length)
  const batchesVector = endBlocks(builder, batches)
  Footer.startFooter(builder)
  Footer.addVersion(builder, formatVersion)
  Footer.addSchema(builder, message - header.bb_pos)
  Footer.addDictionaries(builder, dictionariesVector)
  Footer.addRecordBatches(builder, batchesVector)
  Footer.finishFooterBuffer(builder, Footer.endFooter(builder))
  const footer = builder.asUint8Array()
  const end = Buffer.from('....ARROW1')
  end.writeInt32LE(footer.length)
  return Buffer.concat([footer, end])
}

/** Vectors are written from their end. */
function endBlocks(builder: Builder, blocks: readonly FileBlock[]): number {
  for (const { offset, metadataLength, bodyLength } of blocks.toReversed())
    Block.createBlock(builder, BigInt(offset), metadataLength, BigInt(bodyLength))
  return builder.endVector()
}
