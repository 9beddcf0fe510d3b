import { write } from 'node:fs'

/**
 * Writes all bytes from that position, or appends (null): a disk that fills up accepts part of a write before it fails.
 * Uses callbacks, since the promises of `FileHandle` cost twice as much.
 */
export function writeAll(file: number, bytes: Buffer, position: number | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const writeFrom = (written: number): void => {
      const at = position === null ? null : position + written
      write(file, bytes, written, bytes.length - written, at, (error, more) => {
        if (error) reject(error)
        else if (written + more < bytes.length) writeFrom(written + more)
        else resolve()
      })
    }
    writeFrom(0)
  })
}
