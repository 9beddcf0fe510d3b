import {
  DataType,
  type Dictionary,
  makeData,
  Table,
  tableFromIPC,
  tableToIPC,
  Vector,
  vectorFromArray,
} from 'apache-arrow'
import { CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
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
 * preserved; dictionaries that are replaced, which is not possible in a file, are merged. Throws InvalidInput for anything
 * but a stream of one schema and for impossible sizes; with status 413 above `bytesLimit` decoded bytes.
 */
export function streamToFile(stream: Uint8Array, bytesLimit: number, isMerged = false): UploadedFile {
  if (stream.length === 0) throw malformedArrowError('the body is empty; expected at least a schema')
  if (isArrowFile(stream)) throw malformedArrowError('the body is an Arrow IPC file')
  let builder: FileBuilder | undefined
  let rows = 0
  let decodedBytes = 0
  let isReplaced = false
  for (const frame of readFrames(stream)) {
    if (builder === undefined || frame.kind === 'schema') {
      builder = startFile(frame, builder)
      continue
    }
    const size = measureFrame(frame, stream)
    decodedBytes += size.decodedBytes
    if (decodedBytes > bytesLimit) throw decodedTooLargeError(bytesLimit)
    if (frame.kind === 'batch') rows += size.rows
    if (appendFrame(builder, frame) !== undefined) isReplaced = true
  }
  if (builder === undefined) throw malformedArrowError('it has no schema')
  const batches = builder.batches.length
  if (isReplaced) {
    // Of a nested column, they are not merged.
    if (isMerged) throw malformedArrowError('a dictionary is replaced; use a delta')
    return streamToFile(mergeDictionaries(stream), bytesLimit, true)
  }
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
      else if (builder === undefined || appendFrame(builder, frame) !== undefined) {
        throw new CatalogError('Unsupported', 'a column of dictionary type has more than one dictionary')
      }
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

/** Returns the id of the dictionary that the message would replace. A repeated message is left out. */
function appendFrame(builder: FileBuilder, frame: Frame): bigint | undefined {
  const block = { offset: builder.length, metadataLength: frame.metadataLength, bodyLength: frame.bodyLength }
  if (frame.kind === 'dictionary') {
    const id = frame.header.id()
    const dictionaryBytes = builder.dictionaryBytes.get(id)
    if (dictionaryBytes !== undefined && !frame.header.isDelta())
      return Buffer.compare(dictionaryBytes, frame.bytes) === 0 ? undefined : id
    if (dictionaryBytes === undefined) builder.dictionaryBytes.set(id, frame.bytes)
    builder.dictionaries.push(block)
  } else {
    builder.batches.push(block)
  }
  appendBytes(builder, frame.bytes)
  return undefined
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

/**
 * Converts an Arrow IPC stream that replaces dictionaries, which a file cannot, into one in which each column has one
 * dictionary with the values of all. Throws InvalidInput if the indices of a column cannot count them, and Unsupported for
 * streams that this process cannot decode, such as compressed ones.
 */
function mergeDictionaries(stream: Uint8Array): Uint8Array {
  try {
    const table = tableFromIPC(stream)
    const columns = table.schema.fields.map(({ name, type }, index) => {
      const column: Vector | null = table.getChildAt(index)
      return [name, column !== null && DataType.isDictionary(type) ? mergeColumn(name, column) : column]
    })
    return tableToIPC(new Table(table.schema, Object.fromEntries(columns)), 'stream')
  } catch (error) {
    if (error instanceof CatalogError) throw error
    const message =
      'a dictionary is replaced between batches; use a delta, or send the rows in several requests'
    throw new CatalogError('Unsupported', message, { cause: error })
  }
}

function mergeColumn(name: string, column: Vector<Dictionary>): Vector<Dictionary> {
  const values: unknown[] = []
  const starts = new Map<Vector | undefined, number>()
  for (const { dictionary } of column.data) {
    if (starts.has(dictionary)) continue
    starts.set(dictionary, values.length)
    for (const value of dictionary ?? []) values.push(value)
  }
  const { type } = column
  const dictionary = vectorFromArray(values, type.dictionary)
  return new Vector(
    column.data.map((data) => {
      const start = starts.get(data.dictionary) ?? 0
      const shifted = data.values.map((index) => index + start)
      if (shifted.some((index, row) => index !== Number(data.values[row]) + start)) {
        const message = `the column ${quoteForMessage(name)} has more values than its indices count; use wider ones`
        throw invalidInput(message)
      }
      const { length, nullCount, nullBitmap, offset } = data
      return makeData({ type, length, nullCount, nullBitmap, offset, data: shifted, dictionary })
    }),
  )
}
