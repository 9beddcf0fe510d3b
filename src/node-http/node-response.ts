import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { closeGracefully, ownedBy } from '../lib/index.ts'
import { BaseResponse, type IncomingRequest, type WriteCallback } from '../http1/index.ts'

/** Bytes of a connection when its last response ended. */
const bytesBefore = new WeakMap<Socket, { readonly read: number; readonly written: number }>()

/**
 * Counts the bytes of a request and its response, heads included. Those of pipelined requests may count for the one before.
 * What follows `end` counts for the next response.
 */
export function countBytes(socket: Socket) {
  const before = bytesBefore.get(socket) ?? { read: 0, written: 0 }
  return {
    received: (): number => socket.bytesRead - before.read,
    sent: (): number => socket.bytesWritten - before.written,
    end: () => void bytesBefore.set(socket, { read: socket.bytesRead, written: socket.bytesWritten }),
  }
}

/** The response to a request of node:http, as the pipeline writes it. */
export class NodeResponse extends BaseResponse {
  readonly #response: ServerResponse
  readonly #isDraining: () => boolean
  readonly #bytes: ReturnType<typeof countBytes>

  /** `isDraining`: whether every response is the last one of its connection. */
  constructor(request: IncomingRequest, response: ServerResponse, isDraining: () => boolean) {
    super(request)
    this.#response = response
    this.#isDraining = isDraining
    this.#bytes = countBytes(request.socket)
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
    return this.#bytes.received()
  }

  get bytesSent(): number {
    return this.#bytes.sent()
  }

  protected get isLast(): boolean {
    return this.#isDraining()
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

  protected sendEnd(last: Buffer | string): void {
    if (this.framing !== 'sized' || this.keepAlive || this.request.isComplete) {
      this.#response.end(last, 'latin1')
      return
    }
    // At the end, node would close the connection, and reset it while the client sends.
    const onWritten: WriteCallback = (error) => {
      if (error) return
      this.complete()
      closeGracefully(this.socket)
    }
    this.#response.write(last, 'latin1', ownedBy(this, onWritten))
  }

  protected onEnd(): void {
    this.#bytes.end()
  }
}
