import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import { measureBatch } from './arrow-batch.ts'
import type { BatchSize } from './arrow-batch.ts'
import { isArrowFile, malformedArrow, readFrames, readWithin } from './arrow-frames.ts'
import type { Frame } from './arrow-frames.ts'
import { fileFooter } from './arrow-footer.ts'
import type { FileBlock } from './arrow-footer.ts'

/** An Arrow IPC file under construction. */
interface FileParts {
  readonly schema: Frame
  readonly chunks: Uint8Array[]
  /** Bytes so far; the position of the next message. */
  length: number
  readonly dictionaries: FileBlock[]
  readonly batches: FileBlock[]
  /** The dictionaries by id, to detect replacements. */
  readonly known: Map<bigint, Uint8Array>
}

/** An uploaded stream converted to an Arrow IPC file. */
export interface UploadedFile {
  readonly file: Buffer
  readonly rows: number
  readonly batches: number
}

const header = Buffer.from('ARROW1\0\0')
const endOfStream = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0])

/**
 * Converts a complete Arrow IPC stream into an Arrow IPC file with byte-identical messages: only a header and a footer
 * are added, so compression, types and metadata are preserved. Throws InvalidInput for anything but a stream of one
 * schema, for a replaced dictionary (not possible in a file) and for impossible sizes; with status 413 above
 * `bytesLimit` decoded bytes.
 */
export function streamToFile(stream: Uint8Array, bytesLimit: number): UploadedFile {
  if (stream.length === 0) throw malformedArrow('the body is empty; expected at least a schema')
  if (isArrowFile(stream)) throw malformedArrow('the body is an Arrow IPC file')
  let parts: FileParts | undefined
  let rows = 0
  let decodedBytes = 0
  for (const frame of readFrames(stream)) {
    if (parts === undefined || frame.kind === 'schema') {
      parts = beginFile(frame, parts)
      continue
    }
    const size = measureFrame(frame, stream)
    decodedBytes += size.decodedBytes
    if (decodedBytes > bytesLimit) throw tooLarge(bytesLimit)
    if (frame.kind === 'batch') rows += size.rows
    const replaced = appendFrame(parts, frame)
    if (replaced !== undefined) throw malformedArrow(`dictionary ${replaced} is replaced; use a delta`)
  }
  if (parts === undefined) throw malformedArrow('it has no schema')
  const batches = parts.batches.length
  return { file: Buffer.concat([...parts.chunks, ...endFile(parts)]), rows, batches }
}

/**
 * Concatenates Arrow IPC files of one schema, as the engine produces them per batch, into the bytes of one file. Takes
 * the next file only after the bytes of the previous one were consumed.
 */
export async function* joinFiles(
  first: Uint8Array,
  next: () => Promise<Uint8Array | null>,
): AsyncGenerator<Uint8Array> {
  let parts: FileParts | undefined
  for (let file: Uint8Array | null = first; file !== null; file = await next()) {
    for (const frame of readFrames(file)) {
      if (frame.kind === 'schema') parts ??= beginFile(frame)
      else if (parts === undefined || appendFrame(parts, frame) !== undefined) {
        throw new CatalogError('Unsupported', 'a column of dictionary type has more than one dictionary')
      }
    }
    if (parts !== undefined) yield* parts.chunks.splice(0)
  }
  if (parts !== undefined) yield Buffer.concat(endFile(parts))
}

function measureFrame(frame: Exclude<Frame, { kind: 'schema' }>, stream: Uint8Array): BatchSize {
  const position = frame.bytes.byteOffset - stream.byteOffset
  return readWithin(position, () => {
    const batch = frame.kind === 'dictionary' ? frame.header.data() : frame.header
    if (batch === null) throw malformedArrow(`the dictionary at byte ${position} is empty`)
    return measureBatch(batch, frame.bytes.subarray(frame.metadataLength))
  })
}

function tooLarge(bytesLimit: number): CatalogError {
  const message = `expected rows of at most ${bytesLimit} bytes when decoded; send them in several parts`
  return new CatalogError('InvalidInput', message, { status: 413 })
}

function beginFile(schema: Frame, started?: FileParts): FileParts {
  if (schema.kind !== 'schema') throw malformedArrow(`expected a schema first, found a ${schema.kind}`)
  if (started !== undefined) throw malformedArrow('it has more than one schema')
  const parts: FileParts = {
    schema,
    chunks: [header],
    length: header.length,
    dictionaries: [],
    batches: [],
    known: new Map(),
  }
  appendBytes(parts, schema.bytes)
  return parts
}

/** Returns the id of the dictionary that the message would replace. A repeated message is left out. */
function appendFrame(parts: FileParts, frame: Frame): bigint | undefined {
  const block = { offset: parts.length, metadataLength: frame.metadataLength, bodyLength: frame.bodyLength }
  if (frame.kind === 'dictionary') {
    const id = frame.header.id()
    const known = parts.known.get(id)
    if (known !== undefined && !frame.header.isDelta())
      return Buffer.compare(known, frame.bytes) === 0 ? undefined : id
    if (known === undefined) parts.known.set(id, frame.bytes)
    parts.dictionaries.push(block)
  } else {
    parts.batches.push(block)
  }
  appendBytes(parts, frame.bytes)
  return undefined
}

/** Messages start at multiples of 8 bytes. */
function appendBytes(parts: FileParts, bytes: Uint8Array): void {
  parts.chunks.push(bytes)
  const padding = -bytes.length & 7
  if (padding > 0) parts.chunks.push(Buffer.alloc(padding))
  parts.length += bytes.length + padding
}

function endFile(parts: FileParts): Uint8Array[] {
  return [endOfStream, fileFooter(parts.schema, parts.dictionaries, parts.batches)]
}
