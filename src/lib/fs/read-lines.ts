import { open } from 'node:fs/promises'

/** Far above the size of any record. */
const maxLineBytes = 64 * 1024 * 1024

export interface FileLine {
  /** Without the newline. Valid only until the next line is requested. */
  readonly bytes: Buffer
  /** One-based. */
  readonly number: number
  /** Offset of its first byte in the file. */
  readonly offset: number
  /** How it ended: at a newline, the end of the file, or the maximum length of a line. */
  readonly end: 'newline' | 'file' | 'limit'
}

/** Bytes that replace a range of the file when it is read. */
interface FilePatch {
  /** At most the size of the file. */
  readonly offset: number
  readonly bytes: Buffer
}

/** Reads the lines of a file in constant memory, with the patch applied. Stops at a line over the maximum length. */
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
        const part = chunk.subarray(begin, newline)
        const bytes = rest.length === 0 ? part : Buffer.concat([rest, part])
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

/**
 * Copies the part of the patch that overlaps the buffer, which begins at `position` of the file. Returns the end of the
 * copied part in the buffer.
 */
function copyPatch({ offset, bytes }: FilePatch, buffer: Buffer, position: number): number {
  const begin = Math.max(0, position - offset)
  const at = Math.max(0, offset - position)
  return at >= buffer.length || begin >= bytes.length ? 0 : at + bytes.copy(buffer, at, begin)
}
