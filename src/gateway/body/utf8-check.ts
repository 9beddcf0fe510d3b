import { isUtf8 } from 'node:buffer'

const nothing = Buffer.alloc(0)

/** Whether the pieces of a text make strict UTF-8 together (RFC 3629). A piece may end within a character. */
export class Utf8Check {
  /** The bytes of a character that has begun in the pieces so far. */
  #begun: Buffer = nothing

  /** Answers false where no further piece can make it UTF-8. */
  push(piece: Buffer): boolean {
    let start = 0
    if (this.#begun.length > 0) {
      const missing = lengthOf(this.#begun[0]) - this.#begun.length
      const character = Buffer.concat([this.#begun, piece.subarray(0, missing)])
      this.#begun = character
      if (piece.length < missing) return true
      if (!isUtf8(character)) return false
      start = missing
    }
    const end = start + lengthOfWhole(piece.subarray(start))
    this.#begun = end === piece.length ? nothing : Buffer.from(piece.subarray(end))
    return isUtf8(start === 0 && end === piece.length ? piece : piece.subarray(start, end))
  }

  /** Whether the text ends behind a character. */
  end(): boolean {
    return this.#begun.length === 0
  }
}

/** How many bytes stand before the character that the end of the piece cuts through, if it cuts through one. */
function lengthOfWhole(piece: Buffer): number {
  for (let back = 1; back <= 3 && back <= piece.length; back += 1) {
    const byte = piece[piece.length - back] as number
    if (byte < 0x80) return piece.length
    if (byte >= 0xc0) return lengthOf(byte) > back ? piece.length - back : piece.length
  }
  return piece.length
}

/** The bytes of the character that begins with that byte. */
function lengthOf(first = 0): number {
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
}
