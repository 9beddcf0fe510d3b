import { STATUS_CODES } from 'node:http'
import { hasHeader, ownedBy } from '../../lib/index.ts'
import { MessageWriter, type WriteCallback } from '../codec/message-writer.ts'
import { BaseResponse } from './base-response.ts'
import type { IncomingRequest } from './incoming-request.ts'

let currentDate = ''

export interface ResponseConnection {
  /** Announced to the client. */
  readonly keepAliveSeconds: number
  /** Whether the connection has reached its maximum age, so that the response is its last one. */
  readonly isExpired: boolean
}

/** A response that is written to the socket of its connection. */
export class OutgoingResponse extends BaseResponse {
  readonly #connection: ResponseConnection
  #writer: MessageWriter | undefined

  constructor(request: IncomingRequest, connection: ResponseConnection) {
    super(request)
    this.#connection = connection
  }

  protected get isLast(): boolean {
    return this.#connection.isExpired
  }

  protected sendContinue(): void {
    this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
  }

  protected sendHead(headers: readonly string[]): void {
    let text = `HTTP/1.1 ${this.status} ${STATUS_CODES[this.status] ?? ''}\r\n`
    for (let index = 0; index < headers.length; index += 2)
      text += `${headers[index]}: ${headers[index + 1]}\r\n`
    if (this.framing === 'chunked') text += 'transfer-encoding: chunked\r\n'
    text += this.keepAlive
      ? `connection: keep-alive\r\nkeep-alive: timeout=${this.#connection.keepAliveSeconds}\r\n`
      : 'connection: close\r\n'
    // The date of the origin server is preserved (RFC 9110, section 6.6.1).
    if (!hasHeader(headers, 'date')) text += `date: ${httpDate()}\r\n`
    this.#writer = new MessageWriter(this, this.socket, `${text}\r\n`, this.framing === 'chunked')
  }

  protected sendChunk(chunk: Buffer, onWritten: WriteCallback | undefined): boolean {
    return this.#writer?.write(chunk, onWritten) ?? true
  }

  protected sendEnd(last: Buffer | string): void {
    this.#writer?.end(last)
    if (this.socket.writableLength === 0) {
      this.complete()
      return
    }
    // A write to a connection that was closed meanwhile may be reported without an error.
    const onFlush: WriteCallback = (error) =>
      error || this.socket.destroyed ? this.destroy() : this.complete()
    this.socket.write('', 'latin1', ownedBy(this, onFlush))
  }
}

/** The current time as an HTTP date (RFC 9110, section 5.6.7). Formatted once a second. */
function httpDate(): string {
  if (currentDate === '') {
    currentDate = new Date().toUTCString()
    setTimeout(() => (currentDate = ''), 1_000 - (Date.now() % 1_000)).unref()
  }
  return currentDate
}
