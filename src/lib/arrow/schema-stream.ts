import { MessageFrames } from './message-frames.ts'
import { readSchema, type ArrowSchema } from './schema.ts'

/**
 * Reads an Arrow IPC stream of a schema and nothing else; safe for untrusted input. Returns undefined for anything else,
 * and for a schema above 1 MiB.
 */
export function readSchemaStream(stream: Uint8Array): ArrowSchema | undefined {
  let schema: ArrowSchema | undefined
  const frames = new MessageFrames(({ kind, header }, { length }) => {
    if (kind !== 'schema') throw new RangeError('the stream has rows')
    schema = readSchema(header, length)
  })
  try {
    frames.push(Buffer.from(stream.buffer, stream.byteOffset, stream.byteLength))
    return frames.isWhole ? schema : undefined
  } catch {
    return undefined
  }
}
