import { isUtf8 } from 'node:buffer'

const nothing = Buffer.alloc(0)

/** Validates a text in chunks as strict UTF-8 (RFC 3629). A chunk may end within a character. */
export class Utf8Validator {
  /** A last character of several bytes, which may be incomplete. */
  #last: Buffer = nothing

  /** Returns false if no continuation can make the text valid, as far as its characters are complete. */
  push(chunk: Buffer): boolean {
    const bytes = this.#last.length === 0 ? chunk : Buffer.concat([this.#last, chunk])
    const end = findLastCharacter(bytes)
    this.#last = end === bytes.length ? nothing : Buffer.from(bytes.subarray(end))
    return isUtf8(bytes.subarray(0, end))
  }

  /** Whether the text is valid if it ends here. */
  end(): boolean {
    return isUtf8(this.#last)
  }
}

/** Offset of a character of several bytes that begins in the last three bytes; the length if none does. */
function findLastCharacter(chunk: Buffer): number {
  for (let at = chunk.length - 1; at >= 0 && at >= chunk.length - 3; at -= 1) {
    const byte = chunk.readUInt8(at)
    if (byte < 0x80) break
    if (byte >= 0xc0) return at
  }
  return chunk.length
}
