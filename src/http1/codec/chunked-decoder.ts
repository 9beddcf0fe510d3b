/** Maximum of a chunk-size line with its extensions, and of all trailers together. */
const maxLineBytes = 256
const maxTrailerBytes = 16 * 1024

const lineFeed = 0x0a

/** The lines between the data of chunks. */
type Line = 'size' | 'data end' | 'trailers'

/**
 * RFC 9112, section 7.1.1, without the whitespace that senders must not produce, and without quoted pairs: llhttp
 * accepts neither.
 */
const sizeLine =
  /^([0-9A-Fa-f]{1,12})(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]*"))?)*$/
/** Framing and connection headers belong in the head; a parser that merges trailers into it could obey them. */
const framingTrailer = /^(?:content-length|transfer-encoding|(?:proxy-)?connection|upgrade):/i
/** Prefixes of the lines: any other byte is rejected before the line is complete. */
const prefixes = {
  size: /^[0-9A-Fa-f]{1,12}(?:;[\t\x20-\x7e\x80-\xff]*)?\r?$/,
  'data end': /^\r$/,
  trailers: /^[\t\x20-\x7e\x80-\xff]*\r?$/,
}
const trailerLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/

/** Decodes a chunked body (RFC 9112, section 7.1) incrementally. Extensions and trailers are discarded. */
export class ChunkedDecoder {
  #part: Line | 'data' | 'complete' = 'size'
  #left = 0
  #line = ''
  #trailerBytes = 0
  readonly #error: (what: string) => Error

  /** `error` creates the errors that `decode` throws. */
  constructor(error: (what: string) => Error) {
    this.#error = error
  }

  /** Whether the last chunk and the trailers have been read. */
  get isComplete(): boolean {
    return this.#part === 'complete'
  }

  /**
   * Decodes the bytes from an offset on and calls `onData` with the data in them. Returns the offset where it stopped:
   * the end of the body, or of the data for which `onData` returned false. Throws `error(what)` for an invalid body.
   */
  decode(bytes: Buffer, from: number, onData: (chunk: Buffer) => boolean): number {
    let at = from
    while (at < bytes.length && this.#part !== 'complete') {
      if (this.#part !== 'data') {
        at = this.#readLine(bytes, at, this.#part)
        continue
      }
      const end = Math.min(bytes.length, at + this.#left)
      const chunk = bytes.subarray(at, end)
      this.#left -= chunk.length
      at = end
      if (this.#left === 0) this.#part = 'data end'
      if (!onData(chunk)) return at
    }
    return at
  }

  #readLine(bytes: Buffer, from: number, kind: Line): number {
    const found = bytes.indexOf(lineFeed, from)
    const end = found === -1 ? bytes.length : found + 1
    if (this.#line.length + end - from > this.#maxLineBytes())
      throw this.#error('a line between chunks is too long')
    this.#line += bytes.toString('latin1', from, end)
    if (found === -1) {
      if (!prefixes[kind].test(this.#line)) throw this.#error('a line between chunks is invalid')
      return end
    }
    if (!this.#line.endsWith('\r\n')) throw this.#error('a line between chunks does not end with CRLF')
    const line = this.#line.slice(0, -2)
    this.#line = ''
    this.#endLine(line)
    return end
  }

  #maxLineBytes(): number {
    return this.#part === 'trailers' ? maxTrailerBytes - this.#trailerBytes : maxLineBytes
  }

  #endLine(line: string): void {
    if (this.#part === 'size') {
      const size = sizeLine.exec(line)?.[1]
      if (size === undefined) throw this.#error('the size of a chunk is invalid')
      this.#left = Number.parseInt(size, 16)
      this.#part = this.#left === 0 ? 'trailers' : 'data'
    } else if (this.#part === 'data end') {
      if (line !== '') throw this.#error('a chunk is longer than its size')
      this.#part = 'size'
    } else if (line === '') {
      this.#part = 'complete'
    } else {
      if (!trailerLine.test(line) || framingTrailer.test(line)) throw this.#error('a trailer is invalid')
      this.#trailerBytes += line.length + 2
    }
  }
}
