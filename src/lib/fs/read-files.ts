import { open, readFile } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'

/** Whether a path is a folder or something in it; links are not resolved. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(resolve(folder), resolve(path))
  return way !== '..' && !way.startsWith(`..${sep}`)
}

/**
 * Reads a file with one line, such as a password, without the white space around it. Rejects if it is empty, as a file is
 * while it is written, or has control characters.
 */
export async function readSecret(file: string): Promise<string> {
  const text = (await readFile(file, 'utf8')).trim()
  if (text === '') throw new Error(`expected one line, but the file is empty: ${file}`)
  if (/\p{Cc}/u.test(text)) throw new Error(`expected one line without control characters: ${file}`)
  return text
}

/** Reads a file with the value of a header, like `readSecret`. */
export async function readHeaderValue(file: string): Promise<string> {
  const text = await readSecret(file)
  if (!/^[ -~]+$/.test(text)) throw new Error(`expected printable ASCII characters: ${file}`)
  return text
}

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
