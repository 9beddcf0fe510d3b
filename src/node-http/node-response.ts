import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { CallbackList, ownedBy, type TaskOwner } from '../lib/async/owned-tasks.ts'
import { closeGracefully } from '../lib/net/close-gracefully.ts'
import type { WriteCallback } from '../http1/codec/message-writer.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import { LingeringClose, LingerSlots } from '../http1/server/lingering-close.ts'
import { assertResponseHeader } from '../http1/server/outgoing-response.ts'

/** Options and callbacks of the responses of a connection. */
export interface NodeConnection {
  /** Whether every response is the last one of its connection. */
  readonly isLast: () => boolean
  readonly lingerSlots: LingerSlots
  /** The last response was sent before its upload was received; the connection is about to be closed. */
  readonly onLastResponse: () => void
}

const lastingConnection: NodeConnection = {
  isLast: () => false,
  lingerSlots: new LingerSlots(),
  onLastResponse: () => undefined,
}

const uploadCheckIntervalMs = 1_000

/** Bytes of a connection when its last response ended. */
const bytesBefore = new WeakMap<Socket, { readonly read: number; readonly written: number }>()

/** Counts the bytes of a request and its response, heads included. Those of pipelined requests may count for the one before. */
export class ByteCount {
  readonly #socket: Socket
  readonly #before: { readonly read: number; readonly written: number }

  constructor(socket: Socket) {
    this.#socket = socket
    this.#before = bytesBefore.get(socket) ?? { read: 0, written: 0 }
  }

  get received(): number {
    return this.#socket.bytesRead - this.#before.read
  }

  get sent(): number {
    return this.#socket.bytesWritten - this.#before.written
  }

  /** What follows counts for the next response. */
  end(): void {
    const { bytesRead: read, bytesWritten: written } = this.#socket
    bytesBefore.set(this.#socket, { read, written })
  }
}

/**
 * The response to a request of node:http, as the pipeline writes it. Like the responses of http1/, it never has more or less
 * than its content-length, and an aborted one never looks complete.
 */
export class NodeResponse implements TaskOwner {
  readonly request: IncomingRequest
  /** Called once: when the response was written completely, or was aborted. */
  readonly onClose = new CallbackList(this)
  /** Called when more can be written after `write` returned false. */
  readonly onDrain = new CallbackList(this)
  /** 0 until the head is known. */
  status = 0
  /** Whether the connection serves further requests. To be set before `writeHead`. */
  keepAlive: boolean
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #connection: NodeConnection
  readonly #bytes: ByteCount
  #state: 'open' | 'ended' | 'complete' | 'destroyed' = 'open'
  #isBodiless = false
  /** Of the body, by the content-length; Infinity without one. */
  #remaining = Infinity
  /** Whether the client recognizes the end of the body without the end of the connection. */
  #isDelimited = false
  #endsWithConnection = false
  /** Whether the rest of the request body is discarded before the connection closes. */
  #lingers = false

  constructor(request: IncomingRequest, response: ServerResponse, connection = lastingConnection) {
    this.request = request
    this.keepAlive = request.head.keepAlive
    this.#response = response
    this.#socket = request.socket
    this.#connection = connection
    this.#bytes = new ByteCount(request.socket)
    response
      .on('drain', () => this.onDrain.call())
      .on(
        'finish',
        ownedBy(this, () => this.#complete()),
      )
      .on(
        'close',
        ownedBy(this, () => this.#close('destroyed')),
      )
      // `close` follows.
      .on('error', () => undefined)
  }

  get bytesReceived(): number {
    return this.#bytes.received
  }

  get bytesSent(): number {
    return this.#bytes.sent
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

  /** Nothing needs the rest of the request body; `drains`: it is discarded within limits, so that the client reads the response. */
  abandonBody(drains: boolean): void {
    if (this.request.abandonBody(drains)) return
    this.keepAlive = false
    this.#lingers = drains
  }

  writeContinue(): void {
    if (this.#state !== 'open' || this.hasHead) return
    this.request.onContinueSent()
    this.#response.writeContinue()
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
    const { method, version } = this.request.head
    this.#isBodiless = hasNoContent || method === 'HEAD'
    if (length !== undefined) this.#remaining = Number(length)
    this.#isDelimited = length !== undefined || this.#isBodiless
    this.#endsWithConnection = !this.#isDelimited && version === '1.0'
    if (this.request.awaitsContinue || this.#endsWithConnection || this.#connection.isLast())
      this.keepAlive = false
    if (!this.keepAlive) sent.push('connection', 'close')
    this.status = status
    this.#response.writeHead(status, sent)
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
    if (chunk.length > this.#remaining || this.#response.destroyed) {
      this.destroy()
      onWritten?.(new Error('the response is aborted'))
      return true
    }
    this.#remaining -= chunk.length
    return this.#response.write(chunk, onWritten)
  }

  /** Text is latin1. Aborts the response if its body is shorter or longer than its content-length. */
  end(last: Buffer | string = ''): void {
    if (this.#state !== 'open') return
    if (!this.hasHead) throw new Error('the response has no head')
    const bytes = typeof last === 'string' ? Buffer.from(last, 'latin1') : last
    const isSized = this.#remaining !== Infinity && !this.#isBodiless
    if ((isSized && this.#remaining !== bytes.length) || this.#response.destroyed) {
      this.destroy()
      return
    }
    this.#state = 'ended'
    this.#sendEnd(this.#isBodiless || bytes.length === 0 ? undefined : bytes)
  }

  fail(error: Error): void {
    this.request.fail(error)
  }

  /** A partial response must not look complete: one that ends with the connection resets it. */
  destroy(): void {
    if (this.#endsWithConnection && !(this.#socket instanceof TLSSocket)) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
    this.#close('destroyed')
  }

  /** Node closes the connection at the end; closing it while the client sends would reset it. */
  #sendEnd(last: Buffer | undefined): void {
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
    const onWritten: WriteCallback = (error) => {
      if (error) return
      this.#complete()
      this.#connection.onLastResponse()
      this.#closeAfterUpload(() => closeGracefully(this.#socket))
    }
    response.write(last ?? '', ownedBy(this, onWritten))
  }

  /**
   * Reads and discards the rest of an upload while the client reads its response, within the limits of a lingering close.
   * Calls `close` when the upload has ended, or at once if too many others linger.
   */
  #closeAfterUpload(close: () => void): void {
    const { request } = this
    const { lingerSlots } = this.#connection
    const { client } = request.addresses
    if (!this.#lingers || !lingerSlots.acquire(client)) {
      close()
      return
    }
    const linger = new LingeringClose(performance.now())
    const check = ownedBy(this, () => {
      if (linger.hasExpired(performance.now())) request.destroy()
    })
    const timer = setInterval(check, uploadCheckIntervalMs).unref()
    const end = (): void => {
      clearInterval(timer)
      lingerSlots.release(client)
      close()
    }
    request.consume({
      onRequestData(chunk) {
        if (!linger.discard(chunk.length)) request.destroy()
      },
      onRequestEnd: end,
      onRequestError: end,
    })
  }

  /** Everything was written. */
  #complete(): void {
    if (this.#state === 'ended') this.#close('complete')
  }

  #close(state: 'complete' | 'destroyed'): void {
    if (this.#state === 'complete' || this.#state === 'destroyed') return
    this.#state = state
    this.#bytes.end()
    this.onClose.call()
  }
}
