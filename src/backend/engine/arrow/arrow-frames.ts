import { type CatalogError, type CatalogErrorOptions, invalidInput } from 'catalog-gateway/catalog-api'
import {
  type ArrowMessage,
  type ArrowSchema,
  continuation,
  MessageFrames,
  prefixLength,
  readMessage,
  readSchema,
} from 'catalog-gateway/arrow'

/** One message of an Arrow IPC stream or file: its metadata and the undecoded bytes of its body. */
export type Frame = ArrowMessage & {
  /** The whole message: continuation marker, length, metadata, padding, body. */
  readonly bytes: Buffer
  /** The FlatBuffers message alone. */
  readonly metadata: Uint8Array
  /** Bytes before the body, including the continuation marker and the length. */
  readonly metadataLength: number
}

export function malformedArrowError(detail: string, options?: CatalogErrorOptions): CatalogError {
  return invalidInput(`expected an Arrow IPC stream: ${detail}`, options)
}

/**
 * Calls `onFrame` for the messages of an Arrow IPC stream, of which the first is its schema. Throws InvalidInput for anything
 * else, and for each RangeError of `onFrame`.
 */
export function readFrames(stream: Uint8Array, onFrame: (frame: Frame) => void): void {
  const buffer = Buffer.from(stream.buffer, stream.byteOffset, stream.byteLength)
  const frames = new MessageFrames((message, metadata) => {
    onFrame(toFrame(buffer, metadata.byteOffset - buffer.byteOffset - prefixLength, message, metadata))
  })
  try {
    frames.push(buffer)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw malformedArrowError(error.message, { cause: error })
  }
  if (!frames.hasSchema) throw malformedArrowError('it has no schema')
  if (!frames.isWhole) throw malformedArrowError(`truncated at byte ${stream.length}`)
}

/** Yields the messages of a file of the engine, whose metadata has any size. */
export function* readFileFrames(file: Buffer): Generator<Frame> {
  let position = findFirstMessage(file)
  // The footer follows a message without metadata.
  for (let length = file.readInt32LE(position + 4); length > 0; length = file.readInt32LE(position + 4)) {
    const metadata = file.subarray(position + prefixLength, position + prefixLength + length)
    const message = readMessage(metadata)
    if (message === undefined) throw new Error('an unknown message in a file of the engine')
    const frame = toFrame(file, position, message, metadata)
    yield frame
    position += frame.bytes.length
  }
}

function toFrame(all: Buffer, position: number, message: ArrowMessage, metadata: Buffer): Frame {
  const metadataLength = prefixLength + metadata.length
  const bytes = all.subarray(position, position + metadataLength + message.bodyLength)
  return { ...message, bytes, metadata, metadataLength }
}

/** Writers pad the magic of a file to 8 or 64 bytes; the first message follows. */
function findFirstMessage(file: Buffer): number {
  for (let position = 8; position <= 64 && position + prefixLength <= file.length; position += 8) {
    if (file.readUInt32LE(position) === continuation) return position
  }
  throw new Error('no message follows the magic of the file')
}

/** Reads the schema of a file of the engine, or of one made of a stream that has been read. */
export function readFileSchema(file: Buffer): ArrowSchema {
  const first = readFileFrames(file).next().value
  if (first?.kind !== 'schema') throw new Error('an Arrow IPC file without a schema')
  return readSchema(first.header, first.metadata.length)
}
