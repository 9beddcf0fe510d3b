import { isUtf8 } from 'node:buffer'

const nothing = Buffer.alloc(0)

/** Validates a text in chunks as strict UTF-8 (RFC 3629). A chunk may end within a character. */
export class Utf8Validator {
  /** Bytes of an incomplete character. */
  #partialCharacter: Buffer = nothing

  /** Returns false if no continuation can make the text valid. */
  push(chunk: Buffer): boolean {
    const bytes = this.#partialCharacter.length === 0 ? chunk : Buffer.concat([this.#partialCharacter, chunk])
    const end = completeLength(bytes)
    this.#partialCharacter = end === bytes.length ? nothing : Buffer.from(bytes.subarray(end))
    return isUtf8(bytes.subarray(0, end))
  }

  /** Whether the text ends at a character boundary. */
  end(): boolean {
    return this.#partialCharacter.length === 0
  }
}

/** Number of bytes before a character that is incomplete at the end of the chunk. */
function completeLength(chunk: Buffer): number {
  for (let back = 1; back <= 3 && back <= chunk.length; back += 1) {
    const byte = chunk.readUInt8(chunk.length - back)
    if (byte < 0x80) return chunk.length
    if (byte >= 0xc0) return characterLength(byte) > back ? chunk.length - back : chunk.length
  }
  return chunk.length
}

/** Length in bytes of the character that starts with that byte. */
function characterLength(first = 0): number {
  return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
}
