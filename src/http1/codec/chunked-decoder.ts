/** Maximum of a chunk-size line with its extensions, and of all trailers together. */
const maxSizeLineBytes = 256
const maxTrailerBytes = 16 * 1024

const lineFeed = 0x0a

type LineKind = 'size' | 'data end' | 'trailers'

/** RFC 9112, section 7.1.1, without quoted pairs and optional whitespace: llhttp accepts neither. */
const sizeLine =
  /^([0-9A-Fa-f]{1,12})(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]*"))?)*$/
/** Framing and connection headers belong in the head; a parser that merges trailers into it could obey them. */
const framingTrailer = /^(?:content-length|transfer-encoding|(?:proxy-)?connection|upgrade):/i
/** An invalid byte is rejected before its line is complete. */
const prefixes = {
  size: /^[0-9A-Fa-f]{1,12}(?:;[\t\x20-\x7e\x80-\xff]*)?\r?$/,
  'data end': /^\r$/,
  trailers: /^[\t\x20-\x7e\x80-\xff]*\r?$/,
}
const trailerLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/

/** Decodes a chunked body (RFC 9112, section 7.1) incrementally. Extensions and trailers are discarded. */
export class ChunkedDecoder {
  #state: LineKind | 'data' | 'complete' = 'size'
  #remaining = 0
  #line = ''
  #trailerBytes = 0
  readonly #createError: (message: string) => Error

  constructor(createError: (message: string) => Error) {
    this.#createError = createError
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  /**
   * Decodes the bytes from an offset on. Returns the offset where it stopped: the end of the body, or of the data for
   * which `onData` returned false. Throws for an invalid body.
   */
  decode(bytes: Buffer, from: number, onData: (chunk: Buffer) => boolean): number {
    let at = from
    while (at < bytes.length && this.#state !== 'complete') {
      if (this.#state !== 'data') {
        at = this.#readLine(bytes, at, this.#state)
        continue
      }
      const end = Math.min(bytes.length, at + this.#remaining)
      const chunk = bytes.subarray(at, end)
      this.#remaining -= chunk.length
      at = end
      if (this.#remaining === 0) this.#state = 'data end'
      if (!onData(chunk)) return at
    }
    return at
  }

  #readLine(bytes: Buffer, from: number, kind: LineKind): number {
    const found = bytes.indexOf(lineFeed, from)
    const end = found === -1 ? bytes.length : found + 1
    if (this.#line.length + end - from > this.#maxLineBytes())
      throw this.#createError('a line between chunks is too long')
    this.#line += bytes.toString('latin1', from, end)
    if (found === -1) {
      if (!prefixes[kind].test(this.#line)) throw this.#createError('a line between chunks is invalid')
      return end
    }
    if (!this.#line.endsWith('\r\n')) throw this.#createError('a line between chunks does not end with CRLF')
    const line = this.#line.slice(0, -2)
    this.#line = ''
    this.#endLine(line)
    return end
  }

  #maxLineBytes(): number {
    return this.#state === 'trailers' ? maxTrailerBytes - this.#trailerBytes : maxSizeLineBytes
  }

  #endLine(line: string): void {
    if (this.#state === 'size') {
      const size = sizeLine.exec(line)?.[1]
      if (size === undefined) throw this.#createError('the size of a chunk is invalid')
      this.#remaining = Number.parseInt(size, 16)
      this.#state = this.#remaining === 0 ? 'trailers' : 'data'
    } else if (this.#state === 'data end') {
      if (line !== '') throw this.#createError('a chunk is longer than its size')
      this.#state = 'size'
    } else if (line === '') {
      this.#state = 'complete'
    } else {
      if (!trailerLine.test(line) || framingTrailer.test(line))
        throw this.#createError('a trailer is invalid')
      this.#trailerBytes += line.length + 2
    }
  }
}
