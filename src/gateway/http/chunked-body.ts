/** The most bytes of a line with the size of a chunk, extensions included; and of all trailers. */
const maximumLineBytes = 256
const maximumTrailerBytes = 16 * 1024

const lineFeed = 0x0a

/** What a line between chunks can be. */
type Line = 'size' | 'data end' | 'trailers'

/**
 * RFC 9112, section 7.1.1, without the whitespace that it tells senders to leave out, and without quoted pairs: node
 * reads neither.
 */
const sizeLine =
  /^([0-9A-Fa-f]{1,12})(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]*"))?)*$/
/** What frames a message or ends its connection stands in the head; one reader may believe it behind a body, too. */
const framingTrailer = /^(?:content-length|transfer-encoding|(?:proxy-)?connection|upgrade):/i
/** Of lines that have not come whole: who sends something else need not be waited for. */
const beginnings = {
  size: /^[0-9A-Fa-f]{1,12}(?:;[\t\x20-\x7e\x80-\xff]*)?\r?$/,
  'data end': /^\r$/,
  trailers: /^[\t\x20-\x7e\x80-\xff]*\r?$/,
}
const trailerLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/

/** Reads a chunked body (RFC 9112, section 7.1), however its bytes are split. Extensions and trailers are dropped. */
export class ChunkedBody {
  #part: Line | 'data' | 'complete' = 'size'
  #left = 0
  #line = ''
  #trailerBytes = 0
  readonly #fault: (what: string) => Error

  /** `fault` makes what is thrown of what is wrong. */
  constructor(fault: (what: string) => Error) {
    this.#fault = fault
  }

  /** Whether the last chunk and the trailers have been read. */
  get isComplete(): boolean {
    return this.#part === 'complete'
  }

  /**
   * Reads on from that position, and gives what it finds of the body to `take`. Returns where it stopped: behind the
   * body, or, where `take` says false, behind what was given last. Throws what `fault`
   * makes.
   */
  read(bytes: Buffer, from: number, take: (piece: Buffer) => boolean): number {
    let at = from
    while (at < bytes.length && this.#part !== 'complete') {
      if (this.#part !== 'data') {
        at = this.#readLine(bytes, at, this.#part)
        continue
      }
      const end = Math.min(bytes.length, at + this.#left)
      const piece = bytes.subarray(at, end)
      this.#left -= piece.length
      at = end
      if (this.#left === 0) this.#part = 'data end'
      if (!take(piece)) return at
    }
    return at
  }

  #readLine(bytes: Buffer, from: number, kind: Line): number {
    const found = bytes.indexOf(lineFeed, from)
    const end = found === -1 ? bytes.length : found + 1
    if (this.#line.length + end - from > this.#lineBound())
      throw this.#fault('a line between chunks is too long')
    this.#line += bytes.toString('latin1', from, end)
    if (found === -1) {
      if (!beginnings[kind].test(this.#line)) throw this.#fault('a line between chunks is none')
      return end
    }
    if (!this.#line.endsWith('\r\n')) throw this.#fault('a line between chunks does not end as it should')
    const line = this.#line.slice(0, -2)
    this.#line = ''
    this.#endLine(line)
    return end
  }

  #lineBound(): number {
    return this.#part === 'trailers' ? maximumTrailerBytes - this.#trailerBytes : maximumLineBytes
  }

  #endLine(line: string): void {
    if (this.#part === 'size') {
      const size = sizeLine.exec(line)?.[1]
      if (size === undefined) throw this.#fault('the size of a chunk is none')
      this.#left = Number.parseInt(size, 16)
      this.#part = this.#left === 0 ? 'trailers' : 'data'
    } else if (this.#part === 'data end') {
      if (line !== '') throw this.#fault('a chunk is longer than its size')
      this.#part = 'size'
    } else if (line === '') {
      this.#part = 'complete'
    } else {
      if (!trailerLine.test(line) || framingTrailer.test(line)) throw this.#fault('a trailer is none')
      this.#trailerBytes += line.length + 2
    }
  }
}
