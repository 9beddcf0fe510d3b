import { ChunkedDecoder } from '../codec/chunked-decoder.ts'
import { PartialHead } from '../codec/partial-head.ts'
import { malformed, RequestError } from './request-error.ts'
import { assertRequestLinePrefix, parseRequestHead, type RequestHead } from './request-head.ts'

export interface RequestParserHandler {
  onRequestStart(head: RequestHead): void
  /** The chunk is a slice of the bytes that were parsed, not a copy. */
  onRequestData(chunk: Buffer): void
  /** Called only for requests with a body. */
  onRequestEnd(): void
}

const headEnd = Buffer.from('\r\n\r\n')
const carriageReturn = 0x0d
const lineFeed = 0x0a
const tlsHandshake = 0x16

/** Each call parses one part (a head, or a chunk of a body), so that the handler can pause in between. */
export class RequestParser {
  readonly #handler: RequestParserHandler
  readonly #maxHeadBytes: number
  #state: 'head' | 'sized' | 'chunked' = 'head'
  #remaining = 0
  #decoder: ChunkedDecoder | undefined
  #partialHead: PartialHead | undefined
  /** Of the incomplete head. */
  #hasRequestLine = false

  constructor(handler: RequestParserHandler, maxHeadBytes: number) {
    this.#handler = handler
    this.#maxHeadBytes = maxHeadBytes
  }

  /** Whether a request has begun, and is not complete: more than empty lines (RFC 9112, section 2.2) was parsed. */
  get isInMessage(): boolean {
    return this.#state !== 'head' || (this.#partialHead !== undefined && !isCarriageReturn(this.#partialHead))
  }

  /** Returns the offset where it stopped. Throws RequestError; the parser cannot be used any more then. */
  parse(bytes: Buffer, from: number): number {
    if (this.#state === 'head') return this.#parseHead(bytes, from)
    return this.#state === 'sized' ? this.#parseSized(bytes, from) : this.#parseChunk(bytes, from)
  }

  #parseSized(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#remaining)
    this.#remaining -= end - from
    this.#handler.onRequestData(bytes.subarray(from, end))
    if (this.#remaining === 0) this.#endBody()
    return end
  }

  #parseChunk(bytes: Buffer, from: number): number {
    const decoder = (this.#decoder ??= new ChunkedDecoder(malformed))
    const end = decoder.decode(bytes, from, this.#onChunk)
    if (decoder.isComplete) this.#endBody()
    return end
  }

  readonly #onChunk = (chunk: Buffer): boolean => {
    this.#handler.onRequestData(chunk)
    return false
  }

  #endBody(): void {
    this.#state = 'head'
    this.#decoder = undefined
    this.#handler.onRequestEnd()
  }

  #parseHead(bytes: Buffer, from: number): number {
    const partial = this.#partialHead
    // The second half of an empty line before the head.
    if (partial !== undefined && isCarriageReturn(partial) && bytes[from] === lineFeed) {
      this.#partialHead = undefined
      return from + 1
    }
    const start = partial === undefined ? skipEmptyLines(bytes, from) : from
    if (start === bytes.length) return start
    const before = partial?.bytes.length ?? 0
    const known = partial === undefined ? bytes : partial.append(bytes, start)
    const first = partial === undefined ? start : 0
    const end = known.indexOf(headEnd, first + Math.max(0, before - headEnd.length + 1))
    if (end === -1) {
      if (partial === undefined) (this.#partialHead = new PartialHead()).append(bytes, start)
      this.#assertHeadPrefix(known.subarray(first))
      return bytes.length
    }
    this.#partialHead = undefined
    this.#endHead(known, first, end)
    return start + end - first + headEnd.length - before
  }

  /** Throws if no valid head can start with these bytes. */
  #assertHeadPrefix(known: Buffer): void {
    if (!this.#hasRequestLine) this.#hasRequestLine = assertRequestLine(known)
    // The last bytes may belong to the empty line behind the head.
    assertHeadSize(known.length - (headEnd.length - 1), this.#maxHeadBytes)
  }

  #endHead(bytes: Buffer, start: number, end: number): void {
    this.#hasRequestLine = false
    assertHeadSize(end - start, this.#maxHeadBytes)
    const head = parseRequestHead(bytes.toString('latin1', start, end))
    if (head.body === 'chunked') this.#state = 'chunked'
    else if (typeof head.body === 'number' && head.body > 0) this.#state = 'sized'
    this.#remaining = Number(head.body)
    this.#handler.onRequestStart(head)
  }
}

/** The offset behind empty lines, which may precede a request (RFC 9112, section 2.2). */
function skipEmptyLines(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) at += 2
  return at
}

/** Whether it is the first half of an empty line before the head: no head begins so. */
function isCarriageReturn({ bytes }: PartialHead): boolean {
  return bytes[0] === carriageReturn
}

/** Throws if no request line can start with these bytes. Returns whether it is complete. */
function assertRequestLine(bytes: Buffer): boolean {
  if (bytes[0] === tlsHandshake) throw new RequestError('tls_on_plain_port', 'TLS on a port without TLS')
  // The first half of an empty line.
  if (bytes.length === 1 && bytes[0] === carriageReturn) return false
  const end = bytes.indexOf(lineFeed)
  assertRequestLinePrefix(bytes.toString('latin1', 0, end === -1 ? bytes.length : end + 1))
  return end !== -1
}

function assertHeadSize(bytes: number, max: number): void {
  if (bytes > max) throw new RequestError('headers_too_large', `a head of more than ${max} bytes`)
}
