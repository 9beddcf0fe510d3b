import { CatalogError } from 'catalog-gateway/catalog-api'
import { measureBatch } from './arrow-batch.ts'
import type { BatchSize } from './arrow-batch.ts'
import { isArrowFile, malformedArrowError, readFrames, readWithin } from './arrow-frames.ts'
import type { Frame } from './arrow-frames.ts'
import { buildFooter } from './arrow-footer.ts'
import { mergeDictionaries } from './merge-dictionaries.ts'
import type { FileBlock } from './arrow-footer.ts'

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
