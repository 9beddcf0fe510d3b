import { readAnswerHead, type AnswerHead } from './answer-head.ts'
import { ChunkedBody } from '../../http/chunked-body.ts'
import { badAnswer, TransportError } from './transport-error.ts'

/** What takes an answer piece by piece. */
export interface AnswerSink {
  head(head: AnswerHead): void
  /** The bytes are those that were pushed, not a copy. */
  data(piece: Buffer): void
  /** With the last piece, where that is small and has just been pushed: so a short answer is told at once. */
  end(last: Buffer | undefined): void
}

/** Larger ones are told as data. */
const smallBytes = 16 * 1024

const maximumHeadBytes = 64 * 1024
/** So many answers may say that another one comes (1xx). */
const maximumInterim = 8
const beginning = Buffer.from('HTTP/1.')
const headEnd = Buffer.from('\r\n\r\n')

/**
 * Reads one answer from the bytes of a connection, however they are split. Throws TransportError for what is no
 * answer, and for bytes behind it: then it has not said `end`, and the connection is of no more use.
 */
export class AnswerReader {
  readonly #sink: AnswerSink
  #part: 'head' | 'length' | 'chunked' | 'until closed' | 'complete' | 'stopped' = 'head'
  #left = 0
  /** The end of a body of known length; nothing came behind it. */
  #last: Buffer | undefined
  #chunked: ChunkedBody | undefined
  #interim = 0
  /** Of a head that has not come whole yet. */
  #held: Buffer | undefined
  #heldBytes = 0

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  /** Nothing is said to the sink from now on. */
  stop(): void {
    this.#part = 'stopped'
  }

  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      switch (this.#part) {
        case 'head':
          at = this.#readHead(bytes, at)
          break
        case 'length':
          at = this.#readLength(bytes, at)
          break
        case 'chunked':
          at = this.#readChunks(bytes, at)
          break
        case 'until closed':
          this.#sink.data(at === 0 ? bytes : bytes.subarray(at))
          return
        case 'complete':
          throw badAnswer('there is more behind the end of the answer')
        case 'stopped':
          return
      }
    }
    if (this.#part === 'complete') this.#end()
  }

  /** The upstream sends no more. Throws TransportError where the answer is not complete. */
  finish(): void {
    if (this.#part === 'stopped') return
    if (this.#part !== 'until closed')
      throw new TransportError('BROKEN_OFF', 'the connection ended before the answer')
    this.#end()
  }

  #end(): void {
    this.#part = 'stopped'
    this.#sink.end(this.#last)
  }

  #readChunks(bytes: Buffer, from: number): number {
    const chunked = (this.#chunked ??= new ChunkedBody(badAnswer))
    const at = chunked.read(bytes, from, this.#takePiece)
    if (chunked.isComplete && !this.#isStopped()) this.#part = 'complete'
    return at
  }

  readonly #takePiece = (piece: Buffer): boolean => {
    this.#sink.data(piece)
    return !this.#isStopped()
  }

  #isStopped(): boolean {
    return this.#part === 'stopped'
  }

  #readLength(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#left)
    this.#left -= end - from
    const piece = bytes.subarray(from, end)
    if (this.#left > 0) {
      this.#sink.data(piece)
      return end
    }
    this.#part = 'complete'
    if (end === bytes.length && piece.length <= smallBytes) this.#last = piece
    else this.#sink.data(piece)
    return end
  }

  #readHead(bytes: Buffer, from: number): number {
    if (this.#held !== undefined) return this.#readHeldHead(this.#held, bytes, from)
    const end = bytes.indexOf(headEnd, from)
    if (end === -1) {
      this.#held = Buffer.allocUnsafe(maximumHeadBytes)
      return this.#readHeldHead(this.#held, bytes, from)
    }
    if (end - from > maximumHeadBytes) throw badAnswer('the head of the answer is too large')
    this.#endHead(bytes.toString('latin1', from, end))
    return end + headEnd.length
  }

  #readHeldHead(held: Buffer, bytes: Buffer, from: number): number {
    const before = this.#heldBytes
    const copied = bytes.copy(held, before, from)
    this.#heldBytes += copied
    const known = held.subarray(0, this.#heldBytes)
    const compared = Math.min(beginning.length, known.length)
    if (known.compare(beginning, 0, compared, 0, compared) !== 0)
      throw badAnswer('this is no answer of HTTP/1.1')
    const end = known.indexOf(headEnd, Math.max(0, before - headEnd.length + 1))
    if (end === -1) {
      if (this.#heldBytes === maximumHeadBytes) throw badAnswer('the head of the answer is too large')
      return from + copied
    }
    this.#held = undefined
    this.#heldBytes = 0
    this.#endHead(known.toString('latin1', 0, end))
    return from + end + headEnd.length - before
  }

  #endHead(text: string): void {
    const head = readAnswerHead(text)
    if (head.status < 200) {
      this.#interim += 1
      if (head.status === 101) throw badAnswer('the upstream changes to another protocol, unasked')
      if (this.#interim > maximumInterim) throw badAnswer('too many answers say that another one comes')
      return
    }
    this.#left = typeof head.body === 'number' ? head.body : 0
    if (typeof head.body !== 'number') this.#part = head.body
    else this.#part = this.#left === 0 ? 'complete' : 'length'
    this.#sink.head(head)
  }
}
