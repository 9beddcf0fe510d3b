import type { ServerResponse } from 'node:http'
import { closeGracefully, ownedBy } from '../lib/index.ts'
import { BaseResponse, type IncomingRequest, type WriteCallback } from '../http1/index.ts'

/** The response to a request of node:http, as the pipeline writes it. */
export class NodeResponse extends BaseResponse {
  readonly #response: ServerResponse
  readonly #isDraining: () => boolean

  /** `isDraining`: whether every response is the last one of its connection. */
  constructor(request: IncomingRequest, response: ServerResponse, isDraining: () => boolean) {
    super(request)
    this.#response = response
    this.#isDraining = isDraining
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
}
