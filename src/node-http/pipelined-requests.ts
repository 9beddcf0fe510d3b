import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface PendingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly start: () => void
}

/**
 * Serves the requests of a connection of HTTP/1.1 one after the other. Node passes pipelined ones at once, and would serve
 * one behind a response that closes the connection.
 */
export class PipelinedRequests {
  readonly #socket: Socket
  #active: PendingRequest | undefined
  #pending: PendingRequest[] = []
  #onIdle: (() => void) | undefined
  #isClosed = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** The request being served. */
  get active(): Pick<PendingRequest, 'request' | 'response'> | undefined {
    return this.#active
  }

  /** Calls `start` when all previous responses are complete. It is not called if the last one closes the connection. */
  add(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    if (this.#isClosed || this.#isEnded) return
    const pending = { request, response, start }
    if (this.#active === undefined) {
      this.#start(pending)
      return
    }
    this.#pending.push(pending)
    // No further requests are read; those that were received are parsed already.
    this.#socket.pause()
  }

  /** Calls `callback` once when no request is left, at once if there is none, unless the connection closes before. */
  whenIdle(callback: () => void): void {
    if (this.#active === undefined) callback()
    else this.#onIdle = callback
  }

  /** Starts no further request. */
  close(): void {
    this.#isClosed = true
    this.#pending = []
  }

  /** Drops the last request if it is not the active one and its body is incomplete. */
  dropIncomplete(): void {
    if (this.#pending.at(-1)?.request.complete === false) this.#pending.pop()
  }

  /** Whether the last response was sent. Node may still parse bytes that were received with its request. */
  get #isEnded(): boolean {
    return this.#socket.destroyed || this.#socket.writableEnded
  }

  #start(pending: PendingRequest): void {
    this.#active = pending
    pending.response.once('close', () => this.#next())
    pending.start()
  }

  #next(): void {
    this.#active = undefined
    if (this.#isEnded) {
      this.#pending = []
      return
    }
    const next = this.#pending.shift()
    if (this.#pending.length === 0 && this.#socket.isPaused()) this.#socket.resume()
    if (next === undefined) this.#onIdle?.()
    else this.#start(next)
  }
}
