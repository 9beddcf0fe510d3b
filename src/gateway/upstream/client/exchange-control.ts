import type { AnswerHead } from './answer-head.ts'
import type { OutgoingRequest } from './request-head.ts'

/**
 * Who takes an answer. Either `end` or `failed` is called, once, and nothing after it; each may be called before
 * `send` has returned.
 */
export interface AnswerHandler {
  /** There is a connection, and the request is written from now on. */
  sending(): void
  head(head: AnswerHead): void
  /**
   * A piece of the body. One that comes with `giveBack` is lent: its bytes are good until that is called, once, and
   * nothing more is read before.
   */
  data(piece: Buffer, giveBack: (() => void) | undefined): void
  /** With the last piece of the body, where it did not come as data: its bytes are good until this returns. */
  end(last: Buffer | undefined): void
  failed(error: Error): void
}

/** What an exchange asks of the connection that carries it. */
export interface Carrier {
  close(reason: Error): void
  flowChanged(): void
  isStopped(): boolean
}

/** One request and its answer, for who wants to stop it. After its end, nothing here has any effect. */
export class Exchange {
  readonly request: OutgoingRequest
  readonly handler: AnswerHandler
  /** Milliseconds of performance.now(). */
  readonly begunAt = performance.now()
  #carrier: Carrier | undefined
  #isPaused = false

  constructor(request: OutgoingRequest, handler: AnswerHandler) {
    this.request = request
    this.handler = handler
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  carriedBy(carrier: Carrier | undefined): void {
    this.#carrier = carrier
  }

  /** Ends the exchange, and its connection; the handler hears of `failed` at once. */
  abort(reason: Error): void {
    this.#carrier?.close(reason)
  }

  /** Whether nothing is read, for a pause, or for pieces that were lent and are not back. */
  isStopped(): boolean {
    return this.#carrier?.isStopped() === true
  }

  /** What has been read already may still come. */
  pause(): void {
    this.#isPaused = true
    this.#carrier?.flowChanged()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#carrier?.flowChanged()
  }
}
