import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { CallbackList, removeHeaders, type TaskOwner } from '../../lib/index.ts'
import { isHeaderField } from '../codec/header-fields.ts'
import type { WriteCallback } from '../codec/message-writer.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Only the server writes them. */
const connectionHeaders: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding'])
const contentLength: ReadonlySet<string> = new Set(['content-length'])

/**
 * The rules of a response, whichever server writes it: it never has more or less than its content-length, headers that it
 * may not have, or two ends, and an aborted one never looks complete.
 */
export abstract class BaseResponse implements TaskOwner {
  readonly request: IncomingRequest
  /** Called once: when the response was written to the kernel completely, or was aborted. */
  readonly onClose = new CallbackList(this)
  /** Called when more can be written after `write` returned false. */
  readonly onDrain = new CallbackList(this)
  /** 0 until the head is known. */
  status = 0
  /** Whether the connection serves further requests. To be set before `writeHead`. */
  keepAlive: boolean
  /** Whether the rest of the request body is read and discarded, within limits, behind the response. */
  drains = true
  protected readonly socket: Socket
  protected framing: 'sized' | 'chunked' | 'until closed' | 'none' = 'none'
  #state: 'open' | 'ended' | 'complete' | 'destroyed' = 'open'
  #remaining = 0

  constructor(request: IncomingRequest) {
    this.request = request
    this.keepAlive = request.head.keepAlive
    this.socket = request.socket
  }

  get hasHead(): boolean {
    return this.status !== 0
  }

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  get isDestroyed(): boolean {
    return this.#state === 'destroyed'
  }

  /**
   * To be called before `writeHead` if nothing needs the rest of the request body. If any is left, and it is not to be
   * drained, the connection closes after the response.
   */
  abandonBody(drains: boolean): void {
    this.request.discardReceived()
    this.drains = drains
    if (!drains && !this.request.isComplete) this.keepAlive = false
  }

  /** Sends `100 Continue`, unless a response has begun. */
  writeContinue(): void {
    if (this.#state !== 'open' || this.hasHead) return
    this.request.onContinueSent()
    this.sendContinue()
  }

  /** Takes lower-case names and values in turn. Throws for headers that are not one line or control the connection. */
  writeHead(status: number, headers: readonly string[]): void {
    if (this.hasHead || this.#state !== 'open') return
    const { method, version } = this.request.head
    if (this.request.awaitsContinue) this.keepAlive = false
    let length: string | undefined
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? ''
      const value = headers[index + 1] ?? ''
      if (connectionHeaders.has(name) || !isHeaderField(name, value))
        throw new Error(`the header ${name} cannot be sent`)
      if (name === 'content-length') length = value
    }
    // RFC 9110, section 8.6: 204 has no content-length; for 304 it would be the length of the representation.
    const isBodiless = status === 204 || status === 304
    if (method === 'HEAD' || isBodiless) this.framing = 'none'
    else if (length !== undefined) this.framing = 'sized'
    else if (version === '1.1') this.framing = 'chunked'
    else this.framing = 'until closed'
    this.#remaining = Number(length ?? 0)
    if (this.framing === 'until closed' || this.isLast) this.keepAlive = false
    this.status = status
    this.sendHead(isBodiless ? removeHeaders(headers, contentLength) : headers)
  }

  /**
   * Returns false if the next chunk should wait for `onDrain`. Destroys the response if the chunk exceeds its length.
   */
  write(chunk: Buffer, onWritten?: WriteCallback): boolean {
    if (this.#state !== 'open' || !this.hasHead) {
      onWritten?.(new Error('the response has ended'))
      return true
    }
    if (this.framing === 'none' || chunk.length === 0) {
      onWritten?.()
      return true
    }
    // The client would parse the excess as the next response.
    if (this.framing === 'sized' && chunk.length > this.#remaining) this.destroy()
    if (this.socket.destroyed) {
      onWritten?.(new Error('the connection is closed'))
      return true
    }
    this.#remaining -= chunk.length
    return this.sendChunk(chunk, onWritten)
  }

  /** Text is latin1. Destroys the response if the body is shorter or longer than its content-length. */
  end(last: Buffer | string = ''): void {
    if (this.#state !== 'open') return
    if (!this.hasHead) throw new Error('the response has no head')
    const bytes = this.framing === 'none' ? 0 : last.length
    if ((this.framing === 'sized' && this.#remaining !== bytes) || this.socket.destroyed) {
      this.destroy()
      return
    }
    this.#state = 'ended'
    this.sendEnd(bytes === 0 ? '' : last)
    if (this.drains) this.request.drain()
  }

  fail(error: Error): void {
    this.request.fail(error)
  }

  /**
   * A partial response must not look complete: one that ends with the connection resets TCP, and omits close_notify in
   * TLS.
   */
  destroy(): void {
    const canReset = this.framing === 'until closed' && !(this.socket instanceof TLSSocket)
    if (canReset) this.socket.resetAndDestroy()
    else this.socket.destroy()
    this.onConnectionClose()
  }

  onConnectionClose(): void {
    if (this.#state !== 'complete' && this.#state !== 'destroyed') this.#close('destroyed')
  }

  /** To be called when everything was written. */
  protected complete(): void {
    if (this.#state === 'ended') this.#close('complete')
  }

  /** Whether the server closes the connection after the response. */
  protected abstract get isLast(): boolean
  protected abstract sendContinue(): void
  /** Writes the head, with `status`, `keepAlive` and `framing`. */
  protected abstract sendHead(headers: readonly string[]): void
  protected abstract sendChunk(chunk: Buffer, onWritten: WriteCallback | undefined): boolean
  protected abstract sendEnd(last: Buffer | string): void

  #close(state: 'complete' | 'destroyed'): void {
    this.#state = state
    this.onClose.call()
    this.request.onResponseEnd()
  }
}
