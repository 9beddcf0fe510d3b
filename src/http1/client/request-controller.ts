import type { OutgoingRequest } from './outgoing-request.ts'
import type { ResponseHead } from './response-head.ts'

/**
 * Receives the response to a request. Either `onResponseEnd` or `onResponseError` is called, exactly once and last;
 * both may be called before `dispatch` has returned.
 */
export interface ResponseHandler {
  /** There is a connection: the request may reach the upstream from now on. */
  onRequestStart(): void
  onResponseStart(head: ResponseHead): void
  /**
   * A chunk of the body. If there is a `release`, the chunk lies in a pooled buffer: its bytes are valid until `release`
   * is called, once, and nothing more is read until then.
   */
  onResponseData(chunk: Buffer, release: (() => void) | undefined): void
  /** `last` is the last chunk if it has not been passed as data. Its bytes are valid until this returns. */
  onResponseEnd(last: Buffer | undefined): void
  onResponseError(error: Error): void
}

export interface ControlledConnection {
  close(reason: Error): void
  /** Pauses or resumes the socket if it has to be. */
  flowChanged(): void
  readonly isPaused: boolean
}

/** Controls a request that was dispatched. Has no effect when its response has ended. */
export class RequestController {
  readonly request: OutgoingRequest
  readonly handler: ResponseHandler
  /** On the clock of performance.now(). */
  readonly startedAt = performance.now()
  #connection: ControlledConnection | undefined
  #isPaused = false

  constructor(request: OutgoingRequest, handler: ResponseHandler) {
    this.request = request
    this.handler = handler
  }

  /** Whether `pause` was called. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Whether nothing is read, due to `pause` or to chunks that have not been released. */
  get isBlocked(): boolean {
    return this.#connection?.isPaused === true
  }

  attach(connection: ControlledConnection | undefined): void {
    this.#connection = connection
  }

  /** Closes the connection. `onResponseError` is called with the reason before this returns. */
  abort(reason: Error): void {
    this.#connection?.close(reason)
  }

  /** Chunks that have been read already may still be passed on. */
  pause(): void {
    this.#isPaused = true
    this.#connection?.flowChanged()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#connection?.flowChanged()
  }
}
