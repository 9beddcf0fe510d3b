import { CatalogError } from 'catalog-gateway/catalog-api'
import { measureBatch, type BatchSize } from './arrow-batch.ts'
import { isArrowFile, malformedArrowError, readFrames, readWithin, type Frame } from './arrow-frames.ts'

/** An Arrow IPC file under construction. */
interface FileBuilder {
  readonly schema: Frame
  readonly chunks: Uint8Array[]
  /** Bytes so far; the position of the next message. */
  length: number
  readonly dictionaries: FileBlock[]
  readonly batches: FileBlock[]
  /** The dictionaries by id, to detect replacements. */
  readonly dictionaryBytes: Map<bigint, Uint8Array>
}

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
  if (stream.length === 0) throw malformedArrowError('the body is empty; expected at least a schema')
  if (isArrowFile(stream)) throw malformedArrowError('the body is an Arrow IPC file')
  let builder: FileBuilder | undefined
  let rows = 0
  let decodedBytes = 0
  for (const frame of readFrames(stream)) {
    if (builder === undefined || frame.kind === 'schema') {
      builder = startFile(frame, builder)
      continue
    }
    const size = measureFrame(frame, stream)
    decodedBytes += size.decodedBytes
    if (decodedBytes > bytesLimit) throw decodedTooLargeError(bytesLimit)
    if (frame.kind === 'batch') rows += size.rows
    appendFrame(
      builder,
      frame,
      'a dictionary is replaced between batches; unify the dictionaries, or send the rows in several requests',
    )
  }
  if (builder === undefined) throw malformedArrowError('it has no schema')
  const batches = builder.batches.length
  return { file: Buffer.concat([...builder.chunks, ...finishFile(builder)]), rows, batches }
}

/** Returns the stream of the same schema without rows. Throws InvalidInput for a malformed schema. */
export function withoutRows(stream: Uint8Array): Uint8Array {
  const [schema] = readFrames(stream)
  return schema === undefined ? stream : Buffer.concat([schema.bytes, endOfStream])
}

/** Joins Arrow IPC files of one schema. Takes the next file only after the bytes of the previous one were consumed. */
export async function* joinFiles(
  first: Uint8Array,
  next: () => Promise<Uint8Array | null>,
): AsyncGenerator<Uint8Array> {
  let builder: FileBuilder | undefined
  for (let file: Uint8Array | null = first; file !== null; file = await next()) {
    for (const frame of readFrames(file)) {
      if (frame.kind === 'schema') builder ??= startFile(frame)
      else if (builder !== undefined)
        appendFrame(builder, frame, 'a column of dictionary type has more than one dictionary')
    }
    if (builder !== undefined) yield* builder.chunks.splice(0)
  }
  if (builder !== undefined) yield Buffer.concat(finishFile(builder))
}

function measureFrame(frame: Exclude<Frame, { kind: 'schema' }>, stream: Uint8Array): BatchSize {
  const position = frame.bytes.byteOffset - stream.byteOffset
  return readWithin(position, () => {
    const batch = frame.kind === 'dictionary' ? frame.header.data() : frame.header
    if (batch === null) throw malformedArrowError(`the dictionary at byte ${position} is empty`)
    return measureBatch(batch, frame.bytes.subarray(frame.metadataLength))
  })
}

function decodedTooLargeError(bytesLimit: number): CatalogError {
  const message = `expected rows of at most ${bytesLimit} bytes when decoded; send them in several parts`
  return new CatalogError('InvalidInput', message, { status: 413 })
}

function startFile(schema: Frame, existing?: FileBuilder): FileBuilder {
  if (schema.kind !== 'schema') throw malformedArrowError(`expected a schema first, found a ${schema.kind}`)
  if (existing !== undefined) throw malformedArrowError('it has more than one schema')
  const builder: FileBuilder = {
    schema,
    chunks: [header],
    length: header.length,
    dictionaries: [],
    batches: [],
    dictionaryBytes: new Map(),
  }
  appendBytes(builder, schema.bytes)
  return builder
}

/** A repeated dictionary is left out. Throws Unsupported with that message for one that replaces another. */
function appendFrame(builder: FileBuilder, frame: Frame, replacedMessage: string): void {
  const block = { offset: builder.length, metadataLength: frame.metadataLength, bodyLength: frame.bodyLength }
  if (frame.kind === 'dictionary') {
    const id = frame.header.id()
    const existing = builder.dictionaryBytes.get(id)
    if (existing !== undefined && !frame.header.isDelta()) {
      if (Buffer.compare(existing, frame.bytes) === 0) return
      throw new CatalogError('Unsupported', replacedMessage)
    }
    if (existing === undefined) builder.dictionaryBytes.set(id, frame.bytes)
    builder.dictionaries.push(block)
  } else {
    builder.batches.push(block)
  }
  appendBytes(builder, frame.bytes)
}

/** Messages start at multiples of 8 bytes. */
function appendBytes(builder: FileBuilder, bytes: Uint8Array): void {
  builder.chunks.push(bytes)
  const padding = -bytes.length & 7
  if (padding > 0) builder.chunks.push(Buffer.alloc(padding))
  builder.length += bytes.length + padding
}

function finishFile(builder: FileBuilder): Uint8Array[] {
  return [endOfStream, buildFooter(builder.schema, builder.dictionaries, builder.batches)]
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
