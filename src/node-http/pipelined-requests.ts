import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface PendingRequest {
  readonly response: ServerResponse
  readonly start: () => void
}

/**
 * Serves the requests of a connection one after the other. Node passes pipelined ones at once, and would serve one behind
 * a response that closes the connection.
 */
export class PipelinedRequests {
  readonly #socket: Socket
  #isActive = false
  #pending: PendingRequest[] = []
  #isClosed = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Calls `start` when all previous responses are complete. It is not called if the last one closes the connection. */
  add(response: ServerResponse, start: () => void): void {
    if (this.#isClosed || this.#isEnded) return
    if (!this.#isActive) {
      this.#start({ response, start })
      return
    }
    this.#pending.push({ response, start })
    // No further requests are read; those that were received are parsed already.
    this.#socket.pause()
  }

  /** Starts no further request. */
  close(): void {
    this.#isClosed = true
    this.#pending = []
  }

  /** Whether the last response was sent. Node may still parse bytes that were received with its request. */
  get #isEnded(): boolean {
    return this.#socket.destroyed || this.#socket.writableEnded
  }

  #start({ response, start }: PendingRequest): void {
    this.#isActive = true
    response.once('close', () => this.#next())
    start()
  }

  #next(): void {
    this.#isActive = false
    if (this.#isEnded) {
      this.#pending = []
      return
    }
    const next = this.#pending.shift()
    if (this.#pending.length === 0 && this.#socket.isPaused()) this.#socket.resume()
    if (next !== undefined) this.#start(next)
  }
}
