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
  readonly bytes: Uint8Array
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
  splitFrames(stream, 0, onFrame)
}

/** Like `readFrames`, for a file; its footer is not read. */
export function readFileFrames(file: Uint8Array, onFrame: (frame: Frame) => void): void {
  splitFrames(file.subarray(findFirstMessage(file)), Infinity, onFrame)
}

function splitFrames(stream: Uint8Array, maxRestBytes: number, onFrame: (frame: Frame) => void): void {
  const buffer = toBuffer(stream)
  const frames = new MessageFrames((message, metadata) => {
    const metadataLength = prefixLength + metadata.length
    const start = metadata.byteOffset - buffer.byteOffset - prefixLength
    const bytes = buffer.subarray(start, start + metadataLength + message.bodyLength)
    onFrame({ ...message, bytes, metadata, metadataLength })
  }, maxRestBytes)
  try {
    frames.push(buffer)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw malformedArrowError(error.message, { cause: error })
  }
  if (!frames.hasSchema) throw malformedArrowError('it has no schema')
  if (!frames.isWhole) throw malformedArrowError(`truncated at byte ${stream.length}`)
}

/** Writers pad the magic of a file to 8 or 64 bytes; the first message follows. */
function findFirstMessage(file: Uint8Array): number {
  const buffer = toBuffer(file)
  for (let position = 8; position <= 64 && position + prefixLength <= file.length; position += 8) {
    if (buffer.readUInt32LE(position) === continuation) return position
  }
  throw new Error('no message follows the magic of the file')
}

/** Reads the schema of a file of the engine, or of one made of a stream that has been read. */
export function readFileSchema(file: Uint8Array): ArrowSchema {
  const start = findFirstMessage(file) + prefixLength
  const metadata = file.subarray(start, start + toBuffer(file).readInt32LE(start - 4))
  const message = readMessage(metadata)
  if (message?.kind !== 'schema') throw new Error('an Arrow IPC file without a schema')
  return readSchema(message.header, metadata.length)
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
