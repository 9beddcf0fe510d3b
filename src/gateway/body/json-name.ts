import { refusal } from '../../interface/errors.ts'

/** Of a name, with the space before it. */
const maximumNameBytes = 64 * 1024

/** The name that is being read from a JSON text, and kept where the end of a piece cuts it. */
export class JsonName {
  /** Where the brace or the comma before the name is, in the whole text. */
  separator = 0
  /** Whether the text has come to the name. */
  isOpen = false
  /** Whether an escape stands in it. */
  isEscaped = false
  /** Where it begins in the piece, quote and all; and what of it came in the pieces before. */
  #start = 0
  #begun: Buffer[] = []

  begin(at: number): void {
    this.isOpen = true
    this.isEscaped = false
    this.#start = at
  }

  /** Keeps what the piece holds of the name, for the piece is at its end. */
  keep(piece: Buffer): void {
    this.#begun.push(Buffer.from(piece.subarray(this.#start)))
    this.#start = 0
  }

  /** The name, as it is read: `"\u0069d"` is `id`. It ends before that place in the piece. */
  end(piece: Buffer, end: number): string {
    this.isOpen = false
    if (this.#begun.length === 0 && !this.isEscaped) return piece.toString('utf8', this.#start + 1, end - 1)
    const text = Buffer.concat([...this.#begun.splice(0), piece.subarray(this.#start, end)]).toString('utf8')
    return String(JSON.parse(text))
  }

  /** Throws InvalidInput (400) for one that is too long: an editor of the text has to hold back all of it. */
  limit(end: number): void {
    if (end - this.separator <= maximumNameBytes) return
    throw refusal(
      'malformed_body',
      `a name in the body, with the space before it, takes more than ${maximumNameBytes} bytes`,
    )
  }
}
