import type { Writable } from 'node:stream'
import { CallbackList } from '../lib/async/callback-list.ts'
import type { WriteCallback } from '../http1/codec/message-writer.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import { assertResponseHeader } from '../http1/server/response-header.ts'

/**
 * The response to a request of node, as the pipeline writes it. Like the responses of http1/, it never has more or less
 * than its content-length, and an aborted one never looks complete.
 */
export abstract class NodeResponse {
  readonly request: IncomingRequest
  /** Called once: when the response was written completely, or was aborted. */
  readonly onClose = new CallbackList()
  /** Called when more can be written after `write` returned false. */
  readonly onDrain = new CallbackList()
  /** 0 until the head is known. */
  status = 0
  /** Whether the connection serves further requests. To be set before `writeHead`. */
  keepAlive: boolean
  readonly #output: Writable
  #state: 'open' | 'ended' | 'complete' | 'destroyed' = 'open'
  #isBodiless = false
  /** Of the body, by the content-length; Infinity without one. */
  #remaining = Infinity

  constructor(request: IncomingRequest, output: Writable) {
    this.request = request
    this.keepAlive = request.head.keepAlive
    this.#output = output
    output
      .on('drain', () => this.onDrain.call())
      .on('finish', () => this.#onFinish())
      .on('close', () => this.#close(this.#state === 'ended' && this.hasSentAll() ? 'complete' : 'destroyed'))
      // `close` follows.
      .on('error', () => undefined)
  }

  abstract readonly bytesReceived: number
  abstract readonly bytesSent: number

  get hasHead(): boolean {
    return this.status !== 0
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  get isDestroyed(): boolean {
    return this.#state === 'destroyed'
  }

  /** Nothing needs the rest of the request body; `drains`: it is discarded within limits, so that the client reads the response. */
  abstract abandonBody(drains: boolean): void

  writeContinue(): void {
    if (this.#state === 'open' && !this.hasHead) this.sendContinue()
  }

  /** Takes lower-case names and values in turn. Throws for headers that are not one line or control the connection. */
  writeHead(status: number, headers: readonly string[]): void {
    if (this.hasHead || this.#state !== 'open') return
    // RFC 9110, section 8.6: 204 has no content-length; for 304 it would be the length of the representation.
    const hasNoContent = status === 204 || status === 304
    const sent: string[] = []
    let length: string | undefined
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? ''
      const value = headers[index + 1] ?? ''
      assertResponseHeader(name, value)
      if (name === 'content-length') {
        if (hasNoContent) continue
        length = value
      }
      sent.push(name, value)
    }
    this.#isBodiless = hasNoContent || this.request.head.method === 'HEAD'
    if (length !== undefined) this.#remaining = Number(length)
    this.status = status
    this.prepareHead(status, sent, length !== undefined || this.#isBodiless)
  }

  /** Returns false if the next chunk should wait for `onDrain`. Aborts the response if it exceeds its length. */
  write(chunk: Buffer, onWritten?: WriteCallback): boolean {
    if (this.#state !== 'open' || !this.hasHead) {
      onWritten?.(new Error('the response has ended'))
      return true
    }
    if (this.#isBodiless || chunk.length === 0) {
      onWritten?.()
      return true
    }
    if (chunk.length > this.#remaining || this.#output.destroyed) {
      this.destroy()
      onWritten?.(new Error('the response is aborted'))
      return true
    }
    this.#remaining -= chunk.length
    return this.sendChunk(chunk, onWritten)
  }

  /** Text is latin1. Aborts the response if its body is shorter or longer than its content-length. */
  end(last: Buffer | string = ''): void {
    if (this.#state !== 'open') return
    if (!this.hasHead) throw new Error('the response has no head')
    const bytes = typeof last === 'string' ? Buffer.from(last, 'latin1') : last
    const isSized = this.#remaining !== Infinity && !this.#isBodiless
    if ((isSized && this.#remaining !== bytes.length) || this.#output.destroyed) {
      this.destroy()
      return
    }
    this.#state = 'ended'
    this.sendEnd(this.#isBodiless || bytes.length === 0 ? undefined : bytes)
  }

  /** A partial response must not look complete. */
  destroy(): void {
    this.abort()
    this.#close('destroyed')
  }

  /** Sends the head now instead of with the first chunk: a stream of events may be silent for long. */
  flushHead(): void {
    if (this.#state === 'open' && this.hasHead) this.sendHead()
  }

  protected abstract sendContinue(): void
  protected abstract sendHead(): void
  /** `isDelimited`: whether the client recognizes the end of the body without the end of the connection. */
  protected abstract prepareHead(status: number, headers: readonly string[], isDelimited: boolean): void
  protected abstract sendChunk(chunk: Buffer, onWritten: WriteCallback | undefined): boolean
  protected abstract sendEnd(last: Buffer | undefined): void
  /** Aborts the connection, or the stream of HTTP/2. */
  protected abstract abort(): void
  /** Whether a closed output has sent everything that was written to it, even if it did not finish. */
  protected abstract hasSentAll(): boolean
  /** Called when everything was written. */
  protected abstract finished(): void

  /** To be called when all bytes were written, if the output ends later. */
  protected complete(): void {
    if (this.#state === 'ended') this.#close('complete')
  }

  #onFinish(): void {
    if (this.#state !== 'ended') return
    this.complete()
    this.finished()
  }

  #close(state: 'complete' | 'destroyed'): void {
    if (this.#state === 'complete' || this.#state === 'destroyed') return
    this.#state = state
    this.onClose.call()
  }
}
