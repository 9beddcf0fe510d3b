import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { closeGracefully, ownedBy } from '../lib/index.ts'
import {
  BaseResponse,
  type IncomingRequest,
  LingeringClose,
  LingerSlots,
  type WriteCallback,
} from '../http1/index.ts'

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

/** The response to a request of node:http, as the pipeline writes it. */
export class NodeResponse extends BaseResponse {
  readonly #response: ServerResponse
  readonly #connection: NodeConnection
  readonly #bytes: ByteCount

  constructor(request: IncomingRequest, response: ServerResponse, connection = lastingConnection) {
    super(request)
    this.#response = response
    this.#connection = connection
    this.#bytes = new ByteCount(request.socket)
    response
      .on('drain', () => this.onDrain.call())
      .on(
        'finish',
        ownedBy(this, () => this.complete()),
      )
      .on(
        'close',
        ownedBy(this, () => this.onConnectionClose()),
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

  protected get isLast(): boolean {
    return this.#connection.isLast()
  }

  protected sendContinue(): void {
    this.#response.writeContinue()
  }

  protected sendHead(headers: readonly string[]): void {
    const close = this.keepAlive ? [] : ['connection', 'close']
    this.#response.writeHead(this.status, [...headers, ...close])
  }

  protected sendChunk(chunk: Buffer, onWritten: WriteCallback | undefined): boolean {
    return this.#response.write(chunk, onWritten)
  }

  /** Node closes the connection at the end; closing it while the client sends would reset it. */
  protected sendEnd(last: Buffer | string): void {
    const response = this.#response
    if (this.request.isComplete || this.keepAlive) {
      response.end(last, 'latin1')
      return
    }
    if (this.framing === 'chunked' || this.framing === 'until closed') {
      response.write(last, 'latin1')
      this.#closeAfterUpload(() => response.end())
      return
    }
    if (last === '') response.flushHeaders()
    const onWritten: WriteCallback = (error) => {
      if (error) return
      this.complete()
      this.#connection.onLastResponse()
      this.#closeAfterUpload(() => closeGracefully(this.socket))
    }
    response.write(last, 'latin1', ownedBy(this, onWritten))
  }

  protected onEnd(): void {
    this.#bytes.end()
  }

  /**
   * Reads and discards the rest of an upload while the client reads its response, within the limits of a lingering close.
   * Calls `close` when the upload has ended, or at once if too many others linger.
   */
  #closeAfterUpload(close: () => void): void {
    const { request } = this
    const { lingerSlots } = this.#connection
    const { peer } = request
    if (!this.lingers || !lingerSlots.acquire(peer)) {
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
      lingerSlots.release(peer)
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
}
