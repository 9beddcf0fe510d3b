import { type CatalogError, type CatalogErrorOptions, invalidInput } from 'catalog-gateway/catalog-api'
import {
  type ArrowMessage,
  type ArrowSchema,
  continuation,
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

const magic = Buffer.from('ARROW1')

export function malformedArrowError(detail: string, options?: CatalogErrorOptions): CatalogError {
  return invalidInput(`expected an Arrow IPC stream: ${detail}`, options)
}

export function isArrowFile(bytes: Uint8Array): boolean {
  return bytes.length >= magic.length && magic.equals(bytes.subarray(0, magic.length))
}

/**
 * Yields the messages of an Arrow IPC stream, or of a file before its footer. Throws InvalidInput for a truncated
 * message, offsets out of bounds, message kinds that tables do not use, and bytes after the end of a stream.
 */
export function* readFrames(bytes: Uint8Array): Generator<Frame> {
  const file = isArrowFile(bytes)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let position = file ? findFirstMessage(view) : 0
  while (position < bytes.length) {
    if (position + prefixLength > bytes.length) throw malformedArrowError(`truncated at byte ${bytes.length}`)
    if (view.getUint32(position, true) !== continuation) {
      throw malformedArrowError(`expected a message at byte ${position}`)
    }
    const length = view.getInt32(position + 4, true)
    if (length === 0) {
      if (!file && position + prefixLength < bytes.length) {
        throw malformedArrowError(`data after the end-of-stream marker at byte ${position}`)
      }
      return
    }
    const frame = readFrame(bytes, position, length)
    yield frame
    position += frame.bytes.length
  }
}

/** Writers pad the magic of a file to 8 or 64 bytes; the first message follows. */
function findFirstMessage(view: DataView): number {
  for (let position = 8; position <= 64 && position + 4 <= view.byteLength; position += 8) {
    if (view.getUint32(position, true) === continuation) return position
  }
  throw malformedArrowError('no message follows the magic of the file')
}

function readFrame(bytes: Uint8Array, position: number, length: number): Frame {
  const start = position + prefixLength
  if (length < 0 || start + length > bytes.length) {
    throw malformedArrowError(`truncated message metadata at byte ${position}`)
  }
  const metadata = bytes.subarray(start, start + length)
  const message = readWithin(position, () => readMessage(metadata))
  if (message === undefined) {
    throw malformedArrowError(`the message at byte ${position} is not a schema, dictionary or record batch`)
  }
  const end = start + length + message.bodyLength
  if (message.bodyLength < 0 || end > bytes.length) {
    throw malformedArrowError(`truncated message body at byte ${position}`)
  }
  return { ...message, metadata, bytes: bytes.subarray(position, end), metadataLength: prefixLength + length }
}

/** Runs a reader of a message; turns an out-of-bounds read into a 400. */
export function readWithin<Result>(position: number, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw malformedArrowError(`the message at byte ${position} has an offset out of range`, { cause: error })
  }
}

export function readFileSchema(file: Uint8Array): ArrowSchema {
  for (const { kind, header, metadata } of readFrames(file)) {
    if (kind === 'schema') return readSchema(header, metadata.length)
  }
  throw new Error('an Arrow IPC file without a schema')
}
