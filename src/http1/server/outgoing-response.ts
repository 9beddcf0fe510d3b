import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { CallbackList, ownedBy, type TaskOwner } from '../../lib/async/owned-tasks.ts'
import { isHeaderField } from '../codec/header-fields.ts'
import { MessageWriter, type WriteCallback } from '../codec/message-writer.ts'
import type { IncomingRequest } from './incoming-request.ts'

let currentDate = ''

export interface ResponseConnection {
  /** Announced to the client. */
  readonly keepAliveSeconds: number
  /** Whether the connection has reached its maximum age, so that the response is its last one. */
  readonly isExpired: boolean
  /** Bytes since the previous response ended. */
  readonly bytesReceived: number
  readonly bytesSent: number
  /** The response is complete, or was destroyed together with the connection. */
  onResponseEnd(): void
}

export class OutgoingResponse implements TaskOwner {
  readonly request: IncomingRequest
  /** Called once: when the response was written to the kernel completely, or the connection was closed. */
  readonly onClose = new CallbackList(this)
  /** Called when more can be written after `write` returned false. */
  readonly onDrain = new CallbackList(this)
  /** 0 until the head is known. */
  status = 0
  /** Whether the connection serves further requests. To be set before `writeHead`. */
  keepAlive: boolean
  /** Whether the rest of the request body is read and discarded, within limits, before the connection closes. */
  lingers = false
  readonly #connection: ResponseConnection
  readonly #socket: Socket
  #state: 'open' | 'ended' | 'complete' | 'destroyed' = 'open'
  #framing: 'sized' | 'chunked' | 'until closed' | 'none' = 'none'
  #remaining = 0
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

  get isComplete(): boolean {
    return this.#state === 'complete'
  }

  get isDestroyed(): boolean {
    return this.#state === 'destroyed'
  }

  /** Heads included. Bytes of pipelined requests may count for the one before. */
  get bytesReceived(): number {
    return this.#connection.bytesReceived
  }

  get bytesSent(): number {
    return this.#connection.bytesSent
  }

  /**
   * To be called before `writeHead` if nothing needs the rest of the request body. The connection closes after the
   * response if more than 64 KiB, or an unknown amount, is left; without `drains`, if anything is left.
   */
  abandonBody(drains: boolean): void {
    if (this.request.abandonBody(drains)) return
    this.keepAlive = false
    this.lingers = drains
  }

  writeContinue(): void {
    if (this.#state !== 'open' || this.hasHead) return
    this.request.onContinueSent()
    this.#socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
  }

  /** Takes lower-case names and values in turn. Throws for headers that are not one line or control the connection. */
  writeHead(status: number, headers: readonly string[]): void {
    if (this.hasHead || this.#state !== 'open') return
    const { method, version } = this.request.head
    if (this.request.awaitsContinue) this.keepAlive = false
    let length: string | undefined
    let hasDate = false
    // RFC 9110, section 8.6: 204 has no content-length; for 304 it would be the length of the representation.
    const isBodiless = status === 204 || status === 304
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? ''
      const value = headers[index + 1] ?? ''
      assertResponseHeader(name, value)
      if (name === 'content-length') {
        if (isBodiless) continue
        length = value
      }
      if (name === 'date') hasDate = true
      text += `${name}: ${value}\r\n`
    }
    if (method === 'HEAD' || isBodiless) this.#framing = 'none'
    else if (length !== undefined) this.#framing = 'sized'
    else if (version === '1.1') this.#framing = 'chunked'
    else this.#framing = 'until closed'
    this.#remaining = Number(length ?? 0)
    if (this.#framing === 'until closed' || this.#connection.isExpired) this.keepAlive = false
    if (this.#framing === 'chunked') text += 'transfer-encoding: chunked\r\n'
    text += this.keepAlive
      ? `connection: keep-alive\r\nkeep-alive: timeout=${this.#connection.keepAliveSeconds}\r\n`
      : 'connection: close\r\n'
    this.status = status
    // The date of the origin server is preserved (RFC 9110, section 6.6.1).
    const head = hasDate ? `${text}\r\n` : `${text}date: ${httpDate()}\r\n\r\n`
    this.#writer = new MessageWriter(this, this.#socket, head, this.#framing === 'chunked')
  }

  /**
   * Returns false if the next chunk should wait for `onDrain`. Destroys the response if the chunk exceeds its length.
   */
  write(chunk: Buffer, onWritten?: WriteCallback): boolean {
    if (this.#state !== 'open' || this.#writer === undefined) {
      onWritten?.(new Error('the response has ended'))
      return true
    }
    if (this.#framing === 'none' || chunk.length === 0) {
      onWritten?.()
      return true
    }
    // The client would parse the excess as the next response.
    if (this.#framing === 'sized' && chunk.length > this.#remaining) this.destroy()
    if (this.#socket.destroyed) {
      onWritten?.(new Error('the connection is closed'))
      return true
    }
    this.#remaining -= chunk.length
    return this.#writer.write(chunk, onWritten)
  }

  /** Text is latin1. Destroys the response if the body is shorter or longer than its content-length. */
  end(last: Buffer | string = ''): void {
    if (this.#state !== 'open') return
    if (this.#writer === undefined) throw new Error('the response has no head')
    const bytes = this.#framing === 'none' ? 0 : last.length
    if ((this.#framing === 'sized' && this.#remaining !== bytes) || this.#socket.destroyed) {
      this.destroy()
      return
    }
    this.#state = 'ended'
    this.#writer.end(bytes === 0 ? '' : last)
    if (this.#socket.writableLength === 0) this.#finish()
    else
      this.#socket.write(
        '',
        'latin1',
        ownedBy(this, (error?: Error | null) => this.#onFlush(error)),
      )
  }

  fail(error: Error): void {
    this.request.fail(error)
  }

  /**
   * A partial response must not look complete: one that ends with the connection resets TCP, and omits close_notify in
   * TLS.
   */
  destroy(): void {
    const canReset = this.#framing === 'until closed' && !(this.#socket instanceof TLSSocket)
    if (canReset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    this.onConnectionClose()
  }

  onConnectionClose(): void {
    if (this.#state !== 'complete' && this.#state !== 'destroyed') this.#close('destroyed')
  }

  /** A write to a connection that was closed meanwhile may be reported without an error. */
  #onFlush(error: Error | null | undefined): void {
    if (error || this.#socket.destroyed) this.destroy()
    else this.#finish()
  }

  #finish(): void {
    if (this.#state === 'ended') this.#close('complete')
  }

  #close(state: 'complete' | 'destroyed'): void {
    this.#state = state
    this.onClose.call()
    this.#connection.onResponseEnd()
  }
}

/** Only the server writes them. */
const connectionHeaders: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding'])

/** Throws for a header of a response (lower-case name) that is not one line, or that controls the connection. */
export function assertResponseHeader(name: string, value: string): void {
  if (connectionHeaders.has(name) || !isHeaderField(name, value))
    throw new Error(`the header ${name} cannot be sent`)
}

/** The current time as an HTTP date (RFC 9110, section 5.6.7). Formatted once a second. */
function httpDate(): string {
  if (currentDate === '') {
    currentDate = new Date().toUTCString()
    setTimeout(() => (currentDate = ''), 1_000 - (Date.now() % 1_000)).unref()
  }
  return currentDate
}
