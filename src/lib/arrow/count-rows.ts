import { continuation, prefixLength, readMessage } from './message.ts'

const fileMagic = 'ARROW1'
const fileHeaderLength = 8

/**
 * Counts the rows of a whole Arrow IPC stream, or of a file, by the headers of its batches; the values are not read.
 * Returns undefined for anything else. Safe for untrusted input.
 */
export function countRows(body: Buffer): number | undefined {
  const isFile = body.toString('latin1', 0, fileMagic.length) === fileMagic
  let position = isFile ? fileHeaderLength : 0
  let rows = 0
  let hasSchema = false
  try {
    while (position + prefixLength <= body.length) {
      if (body.readUInt32LE(position) !== continuation) return undefined
      const length = body.readInt32LE(position + 4)
      // The end of a stream; the footer of a file follows it.
      if (length === 0) return hasSchema ? rows : undefined
      const start = position + prefixLength
      const message = length < 0 ? undefined : readMessage(body.subarray(start, start + length))
      if (message === undefined || message.bodyLength < 0 || (message.kind === 'schema') === hasSchema)
        return undefined
      hasSchema = true
      if (message.kind === 'batch') rows += Number(message.header.length())
      position = start + length + message.bodyLength
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
  return hasSchema && position === body.length ? rows : undefined
}
