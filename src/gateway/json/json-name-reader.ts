import { refusal } from '../../catalog-api/index.ts'

/** Includes the whitespace before the name. */
const maxNameBytes = 64 * 1024

/** Reads a member name of a JSON text, which may span chunks. */
export class JsonNameReader {
  /** Offset of the brace or comma before the name in the whole text. */
  separator = 0
  /** Whether the name has started. */
  isOpen = false
  /** Whether it contains an escape. */
  isEscaped = false
  /** Start of the name with its quote in the current chunk, and the parts in earlier chunks. */
  #chunkStart = 0
  #previousChunks: Buffer[] = []

  begin(at: number): void {
    this.isOpen = true
    this.isEscaped = false
    this.#chunkStart = at
  }

  /** Saves the part of the name at the end of a chunk. */
  saveChunk(chunk: Buffer): void {
    this.#previousChunks.push(Buffer.from(chunk.subarray(this.#chunkStart)))
    this.#chunkStart = 0
  }

  /** Returns the decoded name: `"\u0069d"` is `id`. It ends before `end` in the chunk. */
  end(chunk: Buffer, end: number): string {
    this.isOpen = false
    if (this.#previousChunks.length === 0 && !this.isEscaped)
      return chunk.toString('utf8', this.#chunkStart + 1, end - 1)
    const text = Buffer.concat([
      ...this.#previousChunks.splice(0),
      chunk.subarray(this.#chunkStart, end),
    ]).toString('utf8')
    return String(JSON.parse(text))
  }

  /** Throws InvalidInput (400) if the name is too long: an editor has to hold it back completely. */
  assertLength(end: number): void {
    if (end - this.separator <= maxNameBytes) return
    throw refusal(
      'malformed_body',
      `a name in the body, including white space before it, is longer than ${maxNameBytes} bytes`,
    )
  }
}
