import type { Socket } from 'node:net'
import { ownedBy, type TaskOwner } from '../../lib/index.ts'
import type { WriteCallback } from '../codec/message-writer.ts'
import { findSingleHeader } from '../codec/header-fields.ts'
import type { RequestHead } from './request-head.ts'

/** Consumes the body of a request. Nothing is called after `onRequestEnd` or `onRequestError`. */
export interface RequestBodyHandler {
  /**
   * Whether it releases chunks. If so, their memory is reused, and after `pause` it still gets those that have been read
   * already. Otherwise it may keep them.
   */
  readonly releasesChunks?: boolean
  /** With a `release`, the chunk is valid until `release` is called, once, and nothing more is read until then. */
  onRequestData(chunk: Buffer, release: WriteCallback | undefined): void
  onRequestEnd(): void
  /** The connection was closed, or the body is malformed. */
  onRequestError(): void
}

export interface RequestConnection extends TaskOwner {
  readonly socket: Socket
  /** Address of the other end: a proxy, or the client itself. */
  readonly peer: string
  /** Reads the body if a handler wants it, and stops otherwise. */
  applyFlowControl(): void
  /** Aborts the request and its response: closes the connection. */
  destroy(): void
  /** The response is complete, or was destroyed together with the connection. */
  onResponseEnd?(): void
}

/** Bytes of a connection when its last response ended. */
const bytesBefore = new WeakMap<Socket, Pick<Socket, 'bytesRead' | 'bytesWritten'>>()

/** Of the rest of a body that is drained. */
const maxDrainedBytes = 64 * 1024 * 1024
const drainTimeoutMs = 60_000

const discard: RequestBodyHandler = {
  releasesChunks: true,
  onRequestData: (_chunk, release) => release?.(),
  onRequestEnd: () => undefined,
  onRequestError: () => undefined,
}

/** The body is read from the connection only while a handler consumes it. */
export class IncomingRequest implements TaskOwner {
  readonly head: RequestHead
  readonly socket: Socket
  readonly peer: string
  /** When the head was received, on the clock of performance.now(). */
  readonly receivedAt: number
  readonly #connection: RequestConnection
  #state: 'receiving' | 'complete' | 'aborted'
  #handler: RequestBodyHandler | undefined
  #isPaused = false
  #hasSentContinue = false

  constructor(head: RequestHead, receivedAt: number, connection: RequestConnection) {
    this.head = head
    this.socket = connection.socket
    this.peer = connection.peer
    this.receivedAt = receivedAt
    this.#connection = connection
    this.#state = head.body === 0 || head.body === 'unknown' ? 'complete' : 'receiving'
  }

  /** Of the request so far, with its head. Bytes of pipelined requests may count for the one before. */
  get bytesReceived(): number {
    return this.socket.bytesRead - (bytesBefore.get(this.socket)?.bytesRead ?? 0)
  }

  /** Of its response so far. */
  get bytesSent(): number {
    return this.socket.bytesWritten - (bytesBefore.get(this.socket)?.bytesWritten ?? 0)
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  /** The client may or may not send the body after another response: nothing behind the head can be parsed. */
  get awaitsContinue(): boolean {
    return this.head.expectsContinue && !this.#hasSentContinue && !this.isComplete
  }

  get wantsBody(): boolean {
    return this.#handler !== undefined && !this.#isPaused
  }

  /** Whether the handler releases chunks. */
  get releasesChunks(): boolean {
    return this.#handler?.releasesChunks === true
  }

  /** The value of a header (lower-case name); undefined if it is missing or repeated. */
  singleHeader(name: string): string | undefined {
    return findSingleHeader(this.head.headers, name)
  }

  /** Replaces the previous handler. The end is reported even if it is past. */
  consume(handler: RequestBodyHandler): void {
    this.#handler = undefined
    this.#isPaused = false
    if (this.#state === 'complete') handler.onRequestEnd()
    else if (this.#state === 'aborted') handler.onRequestError()
    else {
      this.#handler = handler
      this.#connection.applyFlowControl()
    }
  }

  /** The body is not read until another handler is attached. No effect if the handler is not attached. */
  detach(handler: RequestBodyHandler): void {
    if (this.#handler === handler) this.#handler = undefined
  }

  /** To be called when `100 Continue` has been sent. */
  onContinueSent(): void {
    this.#hasSentContinue = true
  }

  /** Discards the received part of a body that nothing needs. */
  discardReceived(): void {
    if (this.awaitsContinue) return
    this.consume(discard)
    this.detach(discard)
  }

  /**
   * Reads and discards the rest of the body, within limits, while the client reads its response. Many clients write a whole upload
   * before they read; closing the connection earlier resets it, and they never see why they were refused.
   */
  drain(): void {
    if (this.#state !== 'receiving') return
    let bytes = 0
    const timer = setTimeout(
      ownedBy(this, () => this.destroy()),
      drainTimeoutMs,
    ).unref()
    const stopTimer = (): void => clearTimeout(timer)
    this.consume({
      releasesChunks: true,
      onRequestData: (chunk, release) => {
        release?.()
        bytes += chunk.length
        if (bytes > maxDrainedBytes) this.destroy()
      },
      onRequestEnd: stopTimer,
      onRequestError: stopTimer,
    })
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#connection.applyFlowControl()
  }

  /** Aborts the request and its response. */
  destroy(): void {
    this.#connection.destroy()
  }

  fail(error: Error): void {
    this.#connection.fail(error)
  }

  /** To be called when the response has ended: bytes that follow belong to the next request. */
  onResponseEnd(): void {
    const { bytesRead, bytesWritten } = this.socket
    bytesBefore.set(this.socket, { bytesRead, bytesWritten })
    this.#connection.onResponseEnd?.()
  }

  receive(chunk: Buffer, release?: WriteCallback): void {
    if (this.#handler === undefined) release?.()
    else this.#handler.onRequestData(chunk, release)
  }

  complete(): void {
    if (this.#state === 'receiving') this.#end('complete')?.onRequestEnd()
  }

  abort(): void {
    if (this.#state === 'receiving') this.#end('aborted')?.onRequestError()
  }

  #end(state: 'complete' | 'aborted'): RequestBodyHandler | undefined {
    this.#state = state
    const handler = this.#handler
    this.#handler = undefined
    return handler
  }
}
