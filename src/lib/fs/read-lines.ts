import { open } from 'node:fs/promises'

/** The longest line that is read; no record comes near it. */
const maxLineBytes = 64 * 1024 * 1024

/** A line of a file. */
export interface FileLine {
  /** Without the newline. Holds good only until the next line is asked for. */
  readonly bytes: Buffer
  /** Counts from 1. */
  readonly number: number
  /** Where it begins in the file. */
  readonly offset: number
  /** What ended it: a newline, the end of the file, or the limit of what is read as one line. */
  readonly end: 'newline' | 'file' | 'limit'
}

/** Bytes that belong to a file, whatever stands there. */
interface FilePatch {
  /** Where they begin; at the end of the file at the latest. */
  readonly offset: number
  readonly bytes: Buffer
}

/**
 * The lines of a file, in memory that does not grow with the file, and as if the patch were written. Reading stops at a
 * line over the limit.
 */
export async function* readLines(path: string, patch?: FilePatch): AsyncGenerator<FileLine, void> {
  const handle = await open(path)
  try {
    const buffer = Buffer.allocUnsafe(256 * 1024)
    let rest: Buffer = Buffer.alloc(0)
    let number = 1
    let offset = 0
    for (let position = 0, bytesRead = 0; ; position += bytesRead) {
      bytesRead = (await handle.read(buffer, 0, buffer.length, position)).bytesRead
      if (patch) bytesRead = Math.max(bytesRead, copyPatch(patch, buffer, position))
      if (bytesRead === 0) break
      const chunk = buffer.subarray(0, bytesRead)
      let begin = 0
      for (let newline = chunk.indexOf(10); newline !== -1; newline = chunk.indexOf(10, begin)) {
        const piece = chunk.subarray(begin, newline)
        const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
        rest = Buffer.alloc(0)
        begin = newline + 1
        yield { bytes, number, offset, end: 'newline' }
        number += 1
        offset += bytes.length + 1
      }
      rest = Buffer.concat([rest, chunk.subarray(begin)])
      if (rest.length > maxLineBytes) {
        yield { bytes: rest, number, offset, end: 'limit' }
        return
      }
    }
    if (rest.length > 0) yield { bytes: rest, number, offset, end: 'file' }
  } finally {
    await handle.close()
  }
}

/** Copies what of the patch belongs into the buffer, which begins at that position; answers where it ends there. */
function copyPatch({ offset, bytes }: FilePatch, buffer: Buffer, position: number): number {
  const begin = Math.max(0, position - offset)
  const at = Math.max(0, offset - position)
  return at >= buffer.length || begin >= bytes.length ? 0 : at + bytes.copy(buffer, at, begin)
}
