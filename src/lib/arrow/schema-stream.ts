import { continuation, prefixLength, readMessage } from './message.ts'
import { readSchema, type ArrowSchema } from './schema.ts'

/** A schema with thousands of columns has less. */
const maxSchemaBytes = 1024 * 1024
const endOfStream = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0])

const fileMagic = 'ARROW1'
const fileHeaderLength = 8

/**
 * Reads the schema at the start of an Arrow IPC stream, or of a file, which has the same messages behind its header; safe
 * for untrusted input. Returns `incomplete` if more bytes
 * are needed, and undefined for anything else, and for a schema above 1 MiB.
 */
export function readLeadingSchema(start: Uint8Array): ArrowSchema | 'incomplete' | undefined {
  if (start.length < fileHeaderLength) return 'incomplete'
  const isFile = Buffer.from(start.subarray(0, fileMagic.length)).toString('latin1') === fileMagic
  const stream = isFile ? start.subarray(fileHeaderLength) : start
  if (stream.length < prefixLength) return 'incomplete'
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength)
  const length = view.getInt32(4, true)
  if (view.getUint32(0, true) !== continuation || length <= 0 || length > maxSchemaBytes) return undefined
  if (stream.length < prefixLength + length) return 'incomplete'
  return readSchemaMessage(stream, length)
}

/**
 * Reads an Arrow IPC stream of a schema and nothing else; safe for untrusted input. Returns undefined for anything else,
 * and for a schema above 1 MiB.
 */
export function readSchemaStream(stream: Uint8Array): ArrowSchema | undefined {
  try {
    const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength)
    const length = view.getInt32(4, true)
    const end = prefixLength + length
    if (view.getUint32(0, true) !== continuation || length <= 0 || length > maxSchemaBytes) return undefined
    // The marker is optional: the end of the body ends a stream, too.
    if (end !== stream.length && !endOfStream.equals(stream.subarray(end))) return undefined
    return readSchemaMessage(stream, length)
  } catch {
    return undefined
  }
}

/** Returns undefined for a message that is no schema. */
function readSchemaMessage(stream: Uint8Array, length: number): ArrowSchema | undefined {
  try {
    const message = readMessage(stream.subarray(prefixLength, prefixLength + length))
    if (message?.kind !== 'schema' || message.bodyLength !== 0) return undefined
    return readSchema(message.header, length)
  } catch {
    return undefined
  }
}
