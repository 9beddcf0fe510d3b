import { ChunkedBody } from '../http/chunked-body.ts'
import { malformed, NoRequest } from './no-request.ts'
import { assertBeginsHead, readRequestHead, type RequestHead } from './request-head.ts'

/** What takes requests piece by piece. */
export interface RequestSink {
  head(head: RequestHead): void
  /** The bytes are those that were read, not a copy. */
  piece(bytes: Buffer): void
  /** All of a body has been read. */
  end(): void
}

const headEnd = Buffer.from('\r\n\r\n')
const carriageReturn = 0x0d
const lineFeed = 0x0a
const tlsHandshake = 0x16
const usualHeadBytes = 2 * 1024

/**
 * Reads requests from the bytes of a connection, however they are split: one part at a time, so that whoever takes the
 * parts can stop between two of them.
 */
export class RequestReader {
  readonly #sink: RequestSink
  readonly #maximumHeadBytes: number
  #part: 'head' | 'length' | 'chunked' = 'head'
  #left = 0
  #chunked: ChunkedBody | undefined
  /** Of a head that has not come whole yet. */
  #held: Buffer | undefined
  #heldBytes = 0
  #hasBegun = false
  /** Whether its first line is known to be good. */
  #hasLine = false

  constructor(sink: RequestSink, maximumHeadBytes: number) {
    this.#sink = sink
    this.#maximumHeadBytes = maximumHeadBytes
  }

  /** Whether a head has begun, if only with the empty lines that may stand before it. */
  get hasBegunHead(): boolean {
    return this.#hasBegun
  }

  /**
   * Reads on from that position, to the end of the bytes or of the next part: a head, a piece of a body, or its end.
   * Returns where it stopped. Throws NoRequest; then nothing more can be read.
   */
  read(bytes: Buffer, from: number): number {
    if (this.#part === 'head') return this.#readHead(bytes, from)
    return this.#part === 'length' ? this.#readLength(bytes, from) : this.#readChunk(bytes, from)
  }

  #readLength(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#left)
    this.#left -= end - from
    this.#sink.piece(bytes.subarray(from, end))
    if (this.#left === 0) this.#endBody()
    return end
  }

  #readChunk(bytes: Buffer, from: number): number {
    const chunked = (this.#chunked ??= new ChunkedBody(malformed))
    const end = chunked.read(bytes, from, this.#takeChunk)
    if (chunked.isComplete) this.#endBody()
    return end
  }

  readonly #takeChunk = (piece: Buffer): boolean => {
    this.#sink.piece(piece)
    return false
  }

  #endBody(): void {
    this.#part = 'head'
    this.#chunked = undefined
    this.#sink.end()
  }

  #readHead(bytes: Buffer, from: number): number {
    this.#hasBegun = true
    if (this.#held !== undefined) return this.#readHeldHead(this.#held, bytes, from)
    const start = withoutEmptyLines(bytes, from)
    if (start === bytes.length) return start
    const end = bytes.indexOf(headEnd, start)
    if (end === -1) {
      this.#assertGoesOn(this.#hold(bytes.subarray(start)))
      return bytes.length
    }
    this.#endHead(bytes, start, end)
    return end + headEnd.length
  }

  #readHeldHead(held: Buffer, bytes: Buffer, from: number): number {
    const before = this.#heldBytes
    // The other half of an empty line before the head.
    if (before === 1 && held[0] === carriageReturn && bytes[from] === lineFeed) {
      this.#dropHeld()
      return from + 1
    }
    const known = this.#hold(bytes.subarray(from))
    const end = known.indexOf(headEnd, Math.max(0, before - headEnd.length + 1))
    if (end === -1) {
      this.#assertGoesOn(known)
      return bytes.length
    }
    this.#dropHeld()
    this.#endHead(known, 0, end)
    return from + end + headEnd.length - before
  }

  #dropHeld(): void {
    this.#held = undefined
    this.#heldBytes = 0
  }

  /** Keeps the bytes of a head that goes on; returns all of it so far. */
  #hold(bytes: Buffer): Buffer {
    const length = this.#heldBytes + bytes.length
    if (this.#held === undefined || this.#held.length < length) {
      const larger = Buffer.allocUnsafe(Math.max(usualHeadBytes, 2 * length))
      this.#held?.copy(larger, 0, 0, this.#heldBytes)
      this.#held = larger
    }
    bytes.copy(this.#held, this.#heldBytes)
    this.#heldBytes = length
    return this.#held.subarray(0, length)
  }

  /** Throws where a head can neither be that nor begin with it. */
  #assertGoesOn(known: Buffer): void {
    if (!this.#hasLine) this.#hasLine = assertLine(known)
    // The last of it may be the beginning of its end, which is no part of it.
    assertFits(known.length - (headEnd.length - 1), this.#maximumHeadBytes)
  }

  #endHead(bytes: Buffer, start: number, end: number): void {
    this.#hasBegun = false
    this.#hasLine = false
    assertFits(end - start, this.#maximumHeadBytes)
    const head = readRequestHead(bytes.toString('latin1', start, end))
    if (head.body === 'chunked') this.#part = 'chunked'
    else if (typeof head.body === 'number' && head.body > 0) this.#part = 'length'
    this.#left = Number(head.body)
    this.#sink.head(head)
  }
}

/** Where the bytes go on behind empty lines, which may stand before a request (RFC 9112, section 2.2). */
function withoutEmptyLines(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) at += 2
  return at
}

/** Throws where that is not the beginning of a request line; answers whether all of the line is there. */
function assertLine(bytes: Buffer): boolean {
  if (bytes[0] === tlsHandshake) throw new NoRequest('tls_to_plain_port', 'TLS was spoken to a plain port')
  // An empty line may begin like that.
  if (bytes.length === 1 && bytes[0] === carriageReturn) return false
  const end = bytes.indexOf(lineFeed)
  assertBeginsHead(bytes.toString('latin1', 0, end === -1 ? bytes.length : end + 1))
  return end !== -1
}

function assertFits(bytes: number, maximum: number): void {
  if (bytes > maximum) throw new NoRequest('head_too_large', `a head of more than ${maximum} bytes`)
}
