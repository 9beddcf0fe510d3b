import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { ConnectionAddresses } from '../lib/net/connection-addresses.ts'
import { IncomingRequest, type RequestConnection } from '../http1/server/incoming-request.ts'
import type { RequestHead } from '../http1/server/request-head.ts'

/** Where the body of a request comes from. */
export interface BodyInput {
  readonly stream: Readable
  readonly socket: Socket
  readonly addresses: ConnectionAddresses
  /** Whether all of the body has arrived, read or not. */
  readonly hasArrived: () => boolean
  /** Whether the end of the stream is the end of the body, and not that of a stream that was reset. */
  readonly isWhole: () => boolean
  /** Aborts the request and its response. */
  readonly destroy: () => void
}

/** Passes the body of a request of node to the request of the pipeline, while that consumes it. */
export class RequestSource implements RequestConnection {
  readonly request: IncomingRequest
  readonly socket: Socket
  readonly addresses: ConnectionAddresses
  readonly #input: BodyInput
  #isReading = false

  constructor(head: RequestHead, input: BodyInput) {
    this.socket = input.socket
    this.addresses = input.addresses
    this.#input = input
    this.request = new IncomingRequest(head, performance.now(), this)
    const { stream, isWhole } = input
    stream
      // An empty body ends even if it is not read.
      .on('end', () => {
        if (isWhole()) this.request.complete()
        else this.request.abort()
      })
      // `close` follows.
      .on('error', () => undefined)
      .on('aborted', () => this.request.abort())
      .on('close', () => this.request.abort())
    // A stream that is not read does not end.
    if (this.request.isComplete) stream.resume()
  }

  applyFlowControl(): void {
    const { stream } = this.#input
    if (!this.request.wantsBody) {
      stream.pause()
      return
    }
    if (this.#isReading) stream.resume()
    else this.#startReading()
    this.#readBuffered()
  }

  destroy(): void {
    this.#input.destroy()
  }

  #startReading(): void {
    const { stream } = this.#input
    this.#isReading = true
    stream.on('data', (chunk: Buffer) => {
      this.request.receive(chunk)
      if (!this.request.wantsBody) stream.pause()
    })
  }

  /** A body that has arrived is read at once, so that it can be discarded without closing the connection. */
  #readBuffered(): void {
    const { request } = this
    const { stream, hasArrived } = this.#input
    let chunk: unknown
    do chunk = stream.read()
    while (chunk !== null && request.wantsBody)
    if (request.wantsBody && stream.readableLength === 0 && hasArrived()) request.complete()
  }
}
