import { refusal } from '../../catalog-api/catalog-error.ts'

/** Of a name, with the space before it. */
const maxNameBytes = 64 * 1024

/** The name that is being read from a JSON text, and kept where the end of a piece cuts it. */
export class JsonNameReader {
  /** Where the brace or the comma before the name is, in the whole text. */
  separator = 0
  /** Whether the text has come to the name. */
  isOpen = false
  /** Whether an escape stands in it. */
  isEscaped = false
  /** Where it begins in the piece, quote and all; and what of it came in the pieces before. */
  #chunkStart = 0
  #previousChunks: Buffer[] = []

  begin(at: number): void {
    this.isOpen = true
    this.isEscaped = false
    this.#chunkStart = at
  }

  /** Keeps what the piece holds of the name, for the piece is at its end. */
  saveChunk(chunk: Buffer): void {
    this.#previousChunks.push(Buffer.from(chunk.subarray(this.#chunkStart)))
    this.#chunkStart = 0
  }

  /** The name, as it is read: `"\u0069d"` is `id`. It ends before that place in the piece. */
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

  /** Throws InvalidInput (400) for one that is too long: an editor of the text has to hold back all of it. */
  assertLength(end: number): void {
    if (end - this.separator <= maxNameBytes) return
    throw refusal(
      'malformed_body',
      `a name in the body, including white space before it, is longer than ${maxNameBytes} bytes`,
    )
  }
}
