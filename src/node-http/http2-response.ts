import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { WriteCallback } from '../http1/codec/message-writer.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import { NodeResponse } from './node-response.ts'
import { countBytes } from './request-head.ts'
import { StreamAborted } from './stream-aborted.ts'

/** A response over HTTP/2: one stream of a session. */
export class Http2Response extends NodeResponse {
  readonly #stream: ServerHttp2Stream
  /** Sent with the first chunk or the end. */
  #head: OutgoingHttpHeaders | undefined
  #sentBytes = 0

  constructor(request: IncomingRequest, stream: ServerHttp2Stream) {
    super(request, stream)
    this.#stream = stream
  }

  /** Heads are compressed, by all requests of the session together: they count as in HTTP/1.1. */
  get bytesReceived(): number {
    const { head, receivedBytes } = this.request
    return countBytes(head.headers) + head.method.length + head.target.length + receivedBytes
  }

  get bytesSent(): number {
    return this.#sentBytes
  }

  /** The stream is reset after the response (RFC 9113, section 8.1). */
  abandonBody(): void {
    this.request.discardReceived()
  }

  protected override sendContinue(): void {
    if (!this.#stream.destroyed && !this.#stream.closed) this.#stream.additionalHeaders({ ':status': 100 })
  }

  protected override prepareHead(status: number, headers: readonly string[]): void {
    const fields: Record<string, number | string | string[]> = { ':status': status }
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? ''
      const value = headers[index + 1] ?? ''
      const before = fields[name]
      fields[name] = before === undefined ? value : [before, value].flat().map(String)
    }
    this.#head = fields
    this.#sentBytes += countBytes(headers)
  }

  protected override sendHead(): void {
    this.#respond(false)
  }

  protected override sendChunk(chunk: Buffer, onWritten: WriteCallback | undefined): boolean {
    if (!this.#respond(false)) {
      onWritten?.(new Error('the stream is closed'))
      return true
    }
    this.#sentBytes += chunk.length
    return this.#stream.write(chunk, onWritten)
  }

  protected override sendEnd(last: Buffer | undefined): void {
    if (!this.#respond(last === undefined)) return
    this.#sentBytes += last?.length ?? 0
    if (!this.#stream.writableEnded) this.#stream.end(last)
  }

  /** Returns false if the client has closed the stream, which ends the response. */
  #respond(isWhole: boolean): boolean {
    if (this.#stream.destroyed || this.#stream.closed) {
      this.destroy()
      return false
    }
    if (this.#head !== undefined) this.#stream.respond(this.#head, { endStream: isWhole })
    this.#head = undefined
    return true
  }

  /** Closing a stream with an error code would end its response properly first. */
  protected override abort(): void {
    if (!this.#stream.destroyed) this.#stream.destroy(new StreamAborted('the response is aborted'))
  }

  /** Node may close a stream whose last frame was sent before it reports the end of the writes. */
  protected override hasSentAll(): boolean {
    const { rstCode, writableLength } = this.#stream
    return rstCode === constants.NGHTTP2_NO_ERROR && writableLength === 0
  }

  protected override finished(): void {
    if (this.request.isComplete) return
    // Closing the stream ends its body, which must not look complete.
    this.request.abort()
    this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }
}
