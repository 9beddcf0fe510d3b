import { continuation, prefixLength, readMessage } from './message.ts'
import { readSchema, type ArrowSchema } from './schema.ts'

/** A schema with thousands of columns has less. */
const maxSchemaBytes = 1024 * 1024
const endOfStream = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0])

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
    const message = readMessage(stream.subarray(prefixLength, end))
    if (message?.kind !== 'schema' || message.bodyLength !== 0) return undefined
    return readSchema(message.header, length)
  } catch {
    return undefined
  }
}
