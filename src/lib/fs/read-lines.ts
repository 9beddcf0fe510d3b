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

export interface LineRange {
  /** Offset of the first line, which is number 1; default: 0. */
  readonly from?: number
  /** Where reading ends, as the file does otherwise. */
  readonly to?: number
  /** Bytes of a read; default: 256 KiB. */
  readonly readBytes?: number
}

/**
 * Reads the lines of a file, or of a range of it, in constant memory. Stops at a line over the maximum length.
 */
export async function* readLines(
  path: string,
  { from = 0, to = Infinity, readBytes = 256 * 1024 }: LineRange = {},
): AsyncGenerator<FileLine, void> {
  const handle = await open(path)
  try {
    const buffer = Buffer.allocUnsafe(readBytes)
    let rest: Buffer = Buffer.alloc(0)
    let number = 1
    let offset = from
    for (let position = from, bytesRead = 0; ; position += bytesRead) {
      const length = Math.max(0, Math.min(buffer.length, to - position))
      bytesRead = (await handle.read(buffer, 0, length, position)).bytesRead
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
