import { ChunkedDecoder } from '../codec/chunked-decoder.ts'
import { PartialHead } from '../codec/partial-head.ts'
import { assertHeadPrefix, parseResponseHead, type ResponseHead } from './response-head.ts'
import { badResponse, TransportError } from './transport-error.ts'

export interface ResponseParserHandler {
  onResponseStart(head: ResponseHead): void
  /** The chunk is a slice of the bytes that were parsed, not a copy. */
  onResponseData(chunk: Buffer): void
  /** `last` is the last chunk if it is small and within the last parsed bytes; it is not reported as data then. */
  onResponseEnd(last: Buffer | undefined): void
}

/** Larger last chunks are reported as data. */
const smallBytes = 16 * 1024

const maxInterimResponses = 8
const maxHeadBytes = 64 * 1024
const headEnd = Buffer.from('\r\n\r\n')

/** Throws TransportError for an invalid response, and for bytes behind it; the connection cannot be reused then. */
export class ResponseParser {
  readonly #handler: ResponseParserHandler
  readonly #isToHead: boolean
  #state: 'head' | 'sized' | 'chunked' | 'until closed' | 'complete' | 'stopped' = 'head'
  #remaining = 0
  #last: Buffer | undefined
  #decoder: ChunkedDecoder | undefined
  #interimResponses = 0
  #partialHead: PartialHead | undefined

  /** `isToHead`: whether the request is HEAD, so that its response has no body. */
  constructor(handler: ResponseParserHandler, isToHead = false) {
    this.#handler = handler
    this.#isToHead = isToHead
  }

  /** Prevents further callbacks. */
  stop(): void {
    this.#state = 'stopped'
  }

  parse(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      switch (this.#state) {
        case 'head':
          at = this.#parseHead(bytes, at)
          break
        case 'sized':
          at = this.#parseSized(bytes, at)
          break
        case 'chunked':
          at = this.#parseChunks(bytes, at)
          break
        case 'until closed':
          this.#handler.onResponseData(at === 0 ? bytes : bytes.subarray(at))
          return
        case 'complete':
          throw badResponse('there are bytes behind the end of the response')
        case 'stopped':
          return
      }
    }
    if (this.#state === 'complete') this.#end()
  }

  /** The upstream has closed its side. Throws TransportError if the response is incomplete. */
  finish(): void {
    if (this.#state === 'stopped') return
    if (this.#state !== 'until closed')
      throw new TransportError('CONNECTION_CLOSED', 'the connection ended before the response')
    this.#end()
  }

  #end(): void {
    this.#state = 'stopped'
    this.#handler.onResponseEnd(this.#last)
  }

  #parseChunks(bytes: Buffer, from: number): number {
    const decoder = (this.#decoder ??= new ChunkedDecoder(badResponse))
    const at = decoder.decode(bytes, from, this.#onChunk)
    if (decoder.isComplete && !this.#isStopped()) this.#state = 'complete'
    return at
  }

  readonly #onChunk = (chunk: Buffer): boolean => {
    this.#handler.onResponseData(chunk)
    return !this.#isStopped()
  }

  #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  #parseSized(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#remaining)
    this.#remaining -= end - from
    const chunk = bytes.subarray(from, end)
    if (this.#remaining > 0) {
      this.#handler.onResponseData(chunk)
      return end
    }
    this.#state = 'complete'
    if (chunk.length <= smallBytes) this.#last = chunk
    else this.#handler.onResponseData(chunk)
    return end
  }

  #parseHead(bytes: Buffer, from: number): number {
    const partial = this.#partialHead
    const before = partial?.bytes.length ?? 0
    const known = partial === undefined ? bytes : partial.append(bytes, from)
    const start = partial === undefined ? from : 0
    const end = known.indexOf(headEnd, start + Math.max(0, before - headEnd.length + 1))
    if ((end === -1 ? known.length : end) - start > maxHeadBytes)
      throw badResponse('the head of the response is too large')
    if (end === -1) {
      assertHeadPrefix(known.subarray(start), before)
      if (partial === undefined) (this.#partialHead = new PartialHead()).append(bytes, from)
      return bytes.length
    }
    this.#partialHead = undefined
    this.#endHead(known.toString('latin1', start, end))
    return from + end - start + headEnd.length - before
  }

  #endHead(text: string): void {
    const head = parseResponseHead(text, this.#isToHead)
    if (head.status < 200) {
      this.#interimResponses += 1
      if (head.status === 101) throw badResponse('the upstream switches protocols without being asked')
      if (this.#interimResponses > maxInterimResponses) throw badResponse('too many interim responses')
      return
    }
    this.#remaining = typeof head.body === 'number' ? head.body : 0
    if (typeof head.body !== 'number') this.#state = head.body
    else this.#state = this.#remaining === 0 ? 'complete' : 'sized'
    this.#handler.onResponseStart(head)
  }
}
