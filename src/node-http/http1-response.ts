import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { closeGracefully } from '../lib/net/close-gracefully.ts'
import type { WriteCallback } from '../http1/codec/message-writer.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import type { LingerSlots } from '../http1/server/lingering-close.ts'
import { discardUpload } from './discard-upload.ts'
import { NodeResponse } from './node-response.ts'

/** Bytes of a connection when its last response ended. */
const bytesBefore = new WeakMap<Socket, { readonly read: number; readonly written: number }>()

/** Options and callbacks of the responses of a server. */
export interface Http1ResponseOptions {
  /** Whether the connection has reached its maximum age, or the server drains. */
  readonly isLast: (socket: Socket) => boolean
  readonly lingerSlots: LingerSlots
  /** The last response was sent before its upload was received; the connection is about to be closed. */
  readonly onLastResponse: (socket: Socket) => void
  /** Announced to the client; undefined if the server announces it. */
  readonly keepAliveSeconds: number | undefined
}

/** A response over HTTP/1.1, by node:http. */
export class Http1Response extends NodeResponse {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #options: Http1ResponseOptions
  #endsWithConnection = false
  /** Whether its last byte is known without its end. */
  #isDelimited = false
  /** Whether the rest of the request body is discarded before the connection closes. */
  #lingers = false

  constructor(request: IncomingRequest, response: ServerResponse, options: Http1ResponseOptions) {
    super(request, response)
    this.#response = response
    this.#socket = request.socket
    this.#options = options
    this.onClose.add(() => {
      const { bytesRead, bytesWritten } = this.#socket
      bytesBefore.set(this.#socket, { read: bytesRead, written: bytesWritten })
    })
  }

  /** Heads included. Bytes of pipelined requests may count for the one before. */
  get bytesReceived(): number {
    return this.#socket.bytesRead - (bytesBefore.get(this.#socket)?.read ?? 0)
  }

  get bytesSent(): number {
    return this.#socket.bytesWritten - (bytesBefore.get(this.#socket)?.written ?? 0)
  }

  abandonBody(drains: boolean): void {
    if (this.request.abandonBody(drains)) return
    this.keepAlive = false
    this.#lingers = drains
  }

  protected override sendContinue(): void {
    this.request.onContinueSent()
    this.#response.writeContinue()
  }

  protected override prepareHead(status: number, headers: readonly string[], isDelimited: boolean): void {
    this.#isDelimited = isDelimited
    this.#endsWithConnection = !isDelimited && this.request.head.version === '1.0'
    if (this.request.awaitsContinue || this.#endsWithConnection || this.#options.isLast(this.#socket))
      this.keepAlive = false
    this.#response.writeHead(status, [...headers, ...this.#connectionHeaders()])
  }

  protected override sendHead(): void {
    this.#response.flushHeaders()
  }

  #connectionHeaders(): string[] {
    const { keepAliveSeconds } = this.#options
    if (!this.keepAlive) return ['connection', 'close']
    if (keepAliveSeconds === undefined) return []
    return ['connection', 'keep-alive', 'keep-alive', `timeout=${keepAliveSeconds}`]
  }

  protected override sendChunk(chunk: Buffer, onWritten: WriteCallback | undefined): boolean {
    return this.#response.write(chunk, onWritten)
  }

  /** Node closes the connection at the end; closing it while the client sends would reset it. */
  protected override sendEnd(last: Buffer | undefined): void {
    const response = this.#response
    if (this.request.isComplete || this.keepAlive) {
      response.end(last)
      return
    }
    if (!this.#isDelimited) {
      if (last !== undefined) response.write(last)
      this.#closeAfterUpload(() => response.end())
      return
    }
    if (last === undefined) response.flushHeaders()
    response.write(last ?? '', (error) => {
      if (error) return
      this.complete()
      this.#options.onLastResponse(this.#socket)
      this.#closeAfterUpload(() => closeGracefully(this.#socket))
    })
  }

  #closeAfterUpload(close: () => void): void {
    if (this.#lingers) discardUpload(this.request, this.#options.lingerSlots, close)
    else close()
  }

  protected override abort(): void {
    // A response that ends with the connection must not end as it does when it is complete.
    if (this.#endsWithConnection && !(this.#socket instanceof TLSSocket)) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  protected override hasSentAll(): boolean {
    return false
  }

  protected override finished(): void {
    // Node closes or reuses the connection.
  }
}
