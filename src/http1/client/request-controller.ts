import type { WriteCallback } from '../codec/message-writer.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import type { ResponseHead } from './response-head.ts'

/**
 * Either `onResponseEnd` or `onResponseError` is called, once and last, and maybe before `dispatch` returns. An error that
 * one of the others throws is the reason of `onResponseError`.
 */
export interface ResponseHandler {
  /** There is a connection: the request may reach the upstream from now on. */
  onRequestStart(): void
  onResponseStart(head: ResponseHead): void
  /** With a `release`, the chunk is valid until `release` is called, once, and nothing more is read until then. */
  onResponseData(chunk: Buffer, release: WriteCallback | undefined): void
  /** `last` is the last chunk if it has not been passed as data. Its bytes are valid until this returns. */
  onResponseEnd(last: Buffer | undefined): void
  onResponseError(error: Error): void
}

export interface ControlledConnection {
  close(reason: Error): void
  /** Pauses or resumes the socket as needed. */
  applyFlowControl(): void
  readonly isPaused: boolean
}

/** Has no effect when the response has ended. */
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
    this.#connection?.applyFlowControl()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#connection?.applyFlowControl()
  }
}
