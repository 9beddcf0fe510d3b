import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { CallbackList } from '../../lib/async/callback-list.ts'
import { isHeaderField } from '../codec/header-fields.ts'
import { MessageWriter, type WriteCallback } from '../codec/message-writer.ts'
import { httpDate } from './http-date.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Headers that frame the response or control its connection: only this class writes them. */
const connectionHeaders: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding'])

export interface ResponseConnection {
  /** How long the connection may stay idle; announced to the client. */
  readonly keepAliveSeconds: number
  /** Whether the connection has reached its maximum age, so that the response is its last one. */
  readonly isExpired: boolean
  /** Bytes since the previous response ended. */
  readonly bytesReceived: number
  readonly bytesSent: number
  /** The response is complete, or was destroyed together with the connection. */
  responseEnded(): void
}

export class OutgoingResponse {
  readonly request: IncomingRequest
  /** Called once: when the response was written to the kernel completely, or the connection was closed. */
  readonly onClose = new CallbackList()
  /** Called when more can be written after `write` returned false. */
  readonly onDrain = new CallbackList()
  /** 0 until the head is known. */
  status = 0
  /** Whether the connection serves further requests. To be set before `writeHead`. */
  keepAlive: boolean
  readonly #connection: ResponseConnection
  readonly #socket: Socket
  #state: 'open' | 'ended' | 'complete' | 'destroyed' = 'open'
  #body: 'sized' | 'chunked' | 'until closed' | 'none' = 'none'
  #left = 0
  #isContinued = false
  /** Set by `writeHead`. */
  #writer: MessageWriter | undefined

  constructor(request: IncomingRequest, connection: ResponseConnection) {
    this.request = request
    this.keepAlive = request.head.keepAlive
    this.#connection = connection
    this.#socket = request.socket
  }

  get hasHead(): boolean {
    return this.status !== 0
  }

  /** Whether all of it was written to the kernel. */
  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  /** Whether the connection was closed before the response was complete. */
  get isDestroyed(): boolean {
    return this.#state === 'destroyed'
  }

  /**
   * Bytes on the connection since the previous response ended: the request and its response, heads included. Bytes of
   * pipelined requests may count for the one before.
   */
  get bytesReceived(): number {
    return this.#connection.bytesReceived
  }

  get bytesSent(): number {
    return this.#connection.bytesSent
  }

  /** Sends `100 Continue`, unless the head is known already. */
  writeContinue(): void {
    if (this.#state !== 'open' || this.hasHead) return
    this.#isContinued = true
    this.#socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
  }

  /**
   * Sets status and headers (lower-case names and values in turn). They are written with the first chunk of the body, or
   * at the end. Throws for headers that could not be written as one line each, or that control the connection.
   */
  writeHead(status: number, headers: readonly string[]): void {
    if (this.hasHead || this.#state !== 'open') return
    const { method, version, expectsContinue } = this.request.head
    // The client may or may not send the body now: nothing behind the head can be parsed.
    if (expectsContinue && !this.#isContinued && !this.request.isComplete) this.keepAlive = false
    let length: string | undefined
    let hasDate = false
    // RFC 9110, section 8.6: 204 has no content-length; for 304 it would be the length of the representation.
    const isBodiless = status === 204 || status === 304
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? ''
      const value = headers[index + 1] ?? ''
      if (connectionHeaders.has(name) || !isHeaderField(name, value))
        throw new Error(`the header ${name} cannot be sent`)
      if (name === 'content-length') {
        if (isBodiless) continue
        length = value
      }
      if (name === 'date') hasDate = true
      text += `${name}: ${value}\r\n`
    }
    if (method === 'HEAD' || isBodiless) this.#body = 'none'
    else if (length !== undefined) this.#body = 'sized'
    else if (version === '1.1') this.#body = 'chunked'
    else this.#body = 'until closed'
    this.#left = Number(length ?? 0)
    if (this.#body === 'until closed' || this.#connection.isExpired) this.keepAlive = false
    if (this.#body === 'chunked') text += 'transfer-encoding: chunked\r\n'
    text += this.keepAlive
      ? `connection: keep-alive\r\nkeep-alive: timeout=${this.#connection.keepAliveSeconds}\r\n`
      : 'connection: close\r\n'
    this.status = status
    // The date of the origin server is preserved (RFC 9110, section 6.6.1).
    const head = hasDate ? `${text}\r\n` : `${text}date: ${httpDate()}\r\n\r\n`
    this.#writer = new MessageWriter(this.#socket, head, this.#body === 'chunked')
  }

  /**
   * Writes a chunk of the body. Returns false if the next chunk should wait for `onDrain`. Destroys the response if the
   * chunk exceeds its content-length.
   */
  write(chunk: Buffer, onWritten?: WriteCallback): boolean {
    if (this.#state !== 'open' || this.#writer === undefined) {
      onWritten?.(new Error('the response has ended'))
      return true
    }
    if (this.#body === 'none' || chunk.length === 0) {
      onWritten?.()
      return true
    }
    // The client would parse the excess as the next response.
    if (this.#body === 'sized' && chunk.length > this.#left) this.destroy()
    if (this.#socket.destroyed) {
      onWritten?.(new Error('the connection is closed'))
      return true
    }
    this.#left -= chunk.length
    return this.#writer.write(chunk, onWritten)
  }

  /**
   * Ends the response with the last chunk; text is latin1. Destroys it if the body is not as long as its
   * content-length.
   */
  end(last: Buffer | string = ''): void {
    if (this.#state !== 'open') return
    if (this.#writer === undefined) throw new Error('the response has no head')
    const bytes = this.#body === 'none' ? 0 : last.length
    if ((this.#body === 'sized' && this.#left !== bytes) || this.#socket.destroyed) {
      this.destroy()
      return
    }
    this.#state = 'ended'
    this.#writer.end(bytes === 0 ? '' : last)
    if (this.#socket.writableLength === 0) this.#finish()
    else this.#socket.write('', 'latin1', (error) => this.#flushed(error))
  }

  /**
   * Closes the connection, so that the client does not take a partial response for a complete one. If the body ends
   * with the connection, a TCP connection is reset; a TLS connection is closed without close_notify.
   */
  destroy(): void {
    const canReset = this.#body === 'until closed' && !(this.#socket instanceof TLSSocket)
    if (canReset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    this.connectionClosed()
  }

  connectionClosed(): void {
    if (this.#state !== 'complete' && this.#state !== 'destroyed') this.#close('destroyed')
  }

  /** A write to a connection that was closed meanwhile may be reported without an error. */
  #flushed(error: Error | null | undefined): void {
    if (error || this.#socket.destroyed) this.destroy()
    else this.#finish()
  }

  #finish(): void {
    if (this.#state === 'ended') this.#close('complete')
  }

  #close(state: 'complete' | 'destroyed'): void {
    this.#state = state
    this.onClose.call()
    this.#connection.responseEnded()
  }
}
