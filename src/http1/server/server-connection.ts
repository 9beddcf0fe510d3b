import type { Socket } from 'node:net'
import { closeGracefully, ownedBy } from '../../lib/index.ts'
import { ConnectionInput } from './connection-input.ts'
import {
  findExpiry,
  type ConnectionHandler,
  type ConnectionState,
  type StateBeforeRequest,
} from './connection-state.ts'
import { closeWithError, RequestError } from './request-error.ts'
import { IncomingRequest, type RequestConnection } from './incoming-request.ts'
import { LingeringClose } from './lingering-close.ts'
import { OutgoingResponse, type ResponseConnection } from './outgoing-response.ts'
import type { RequestHead } from './request-head.ts'
import { RequestParser, type RequestParserHandler } from './request-parser.ts'

const closing: ConnectionState = { kind: 'closing' }

/** Maximum ratio of the age that is subtracted at random, so that simultaneous connections do not expire together. */
const ageJitter = 0.1

/** Bytes that are discarded before a connection closes: the client may have sent them before it saw the response. */
const maxDiscardedBytes = 256 * 1024

/** A downstream connection. Serves one request at a time; pipelined bytes stay unread until the response is complete. */
export class ServerConnection implements RequestConnection, ResponseConnection, RequestParserHandler {
  readonly socket: Socket
  readonly peer: string
  readonly keepAliveSeconds: number
  #state: ConnectionState
  readonly #handler: ConnectionHandler
  readonly #parser: RequestParser
  readonly #input: ConnectionInput
  /** Whether the client has closed its side. */
  #hasEnded = false
  #discardedBytes = 0
  #receivedAt = performance.now()
  /** Bytes of the connection when the last response ended. */
  #bytesReadBefore = 0
  #bytesWrittenBefore = 0
  /** When the next response is the last one, on the clock of performance.now(). */
  readonly #expiresAt: number

  constructor(accepted: Socket, peer: string, handler: ConnectionHandler) {
    const { keepAliveTimeoutMs, maxConnectionAgeMs, sendTimeoutMs } = handler.timeouts
    this.#input = new ConnectionInput(accepted, this)
    this.socket = this.#input.socket
    this.peer = peer
    this.keepAliveSeconds = Math.floor(keepAliveTimeoutMs / 1000)
    this.#state = { kind: 'opened', since: this.#receivedAt }
    this.#handler = handler
    this.#parser = new RequestParser(this, handler.maxHeadBytes)
    this.#expiresAt = this.#receivedAt + maxConnectionAgeMs * (1 - ageJitter * Math.random())
    this.socket
      .setTimeout(sendTimeoutMs)
      .on('drain', ownedBy(this, this.#onDrain))
      .on('timeout', ownedBy(this, this.#onTimeout))
      .on('end', ownedBy(this, this.#onEnd))
      // `close` follows.
      .on('error', () => undefined)
      .on('close', ownedBy(this, this.#onClose))
    // Something has been read before.
    if (this.socket.isPaused()) this.socket.resume()
  }

  /** Whether a request is active. */
  get isBusy(): boolean {
    const { kind } = this.#state
    return kind === 'queued' || kind === 'serving' || kind === 'finishing'
  }

  get isExpired(): boolean {
    return performance.now() >= this.#expiresAt
  }

  get bytesReceived(): number {
    return this.socket.bytesRead - this.#bytesReadBefore
  }

  get bytesSent(): number {
    return this.socket.bytesWritten - this.#bytesWrittenBefore
  }

  /** Makes the current response the last one, unless its head has announced otherwise. */
  drain(): void {
    const state = this.#state
    if (state.kind === 'serving' && !state.response.hasHead) state.response.keepAlive = false
  }

  /** Serves no further request: closes the connection now, or after the current response. */
  revoke(): void {
    const state = this.#state
    if (state.kind === 'serving') state.response.keepAlive = false
    else if (state.kind !== 'finishing' && state.kind !== 'closing') this.#abort()
  }

  /** Closes the connection at once; an incomplete response does not look complete to the client. */
  destroy(): void {
    const state = this.#state
    if (state.kind === 'serving' || state.kind === 'finishing') state.response.destroy()
    this.#abort()
  }

  /** `close` follows, which aborts the request and its response. */
  fail(error: Error): void {
    this.socket.destroy()
    this.#handler.onConnectionError('internal_error', this.peer, error.stack)
  }

  /** Returns whether it closed the connection. */
  closeIfIdle(): boolean {
    const isIdle = !this.isBusy && this.#state.kind !== 'closing'
    if (isIdle) this.#abort()
    return isIdle
  }

  /** `now` is the time of performance.now(). */
  checkTimeouts(now: number): void {
    const expiry = findExpiry(this.#state, now, this.#handler.timeouts)
    if (expiry instanceof RequestError) this.#reject(expiry)
    else if (expiry) this.#abort()
  }

  /** The request whose body is being received. */
  get receiving(): IncomingRequest | undefined {
    const state = this.#state
    return 'request' in state && !state.request.isComplete ? state.request : undefined
  }

  applyFlowControl(): void {
    this.#parse()
  }

  onResponseEnd(): void {
    this.#bytesReadBefore = this.socket.bytesRead
    this.#bytesWrittenBefore = this.socket.bytesWritten
    const state = this.#state
    if (state.kind === 'finishing') this.#close()
    if (state.kind !== 'serving') return
    const { request, response } = state
    if (!response.keepAlive || this.socket.destroyed) {
      if (response.lingers && !request.isComplete) this.#linger()
      else this.#close()
    } else if (request.isComplete) this.#becomeIdle()
    else this.#state = { kind: 'drainingBody', request }
  }

  onRequestStart(head: RequestHead): void {
    const request = new IncomingRequest(head, this.#receivedAt, this)
    const response = new OutgoingResponse(request, this)
    if (this.#handler.isDraining) response.keepAlive = false
    this.#state = { kind: 'serving', request, response }
    this.#handler.onRequest(request, response)
  }

  onRequestData(chunk: Buffer): void {
    this.#input.pass(chunk)
  }

  onRequestEnd(): void {
    const before = this.#state
    if (before.kind === 'serving' || before.kind === 'drainingBody') before.request.complete()
    if (this.#state.kind === 'drainingBody') this.#becomeIdle()
  }

  onBytes(bytes: Buffer): void {
    const state = this.#state
    const { kind } = state
    // Input without end would put off the send timeout of a response that the client does not read.
    if (kind === 'finishing' || kind === 'closing') {
      this.#discardedBytes += bytes.length
      if (this.#discardedBytes > maxDiscardedBytes) this.socket.pause()
      return
    }
    if (kind === 'lingering') {
      if (!state.close.discard(bytes.length)) this.#abort()
      return
    }
    this.#receivedAt = performance.now()
    this.#input.append(bytes)
    if (kind === 'queued') this.#input.applyFlowControl()
    else if (kind === 'opened' || kind === 'idle') this.#enqueue(state)
    else this.#parse()
  }

  #enqueue(before: StateBeforeRequest): void {
    const since = before.kind === 'opened' ? before.since : this.#receivedAt
    this.#state = { kind: 'queued', since, before }
    this.#handler.scheduler.schedule(this.#startRequest)
  }

  readonly #startRequest = ownedBy(this, (): void => {
    const state = this.#state
    if (state.kind !== 'queued') return
    this.#state = { ...state, kind: 'readingHead' }
    this.#parse()
  })

  #parse(): void {
    try {
      while (!this.#input.isEmpty && this.#canParse()) this.#parseNext()
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      this.#reject(error)
    }
    const state = this.#state
    if (state.kind === 'readingHead' && !this.#parser.hasBegun) this.#state = state.before
    if (state.kind === 'idle' && !this.#input.isEmpty) this.#enqueue(state)
    if (this.#hasEnded) this.#finishEnded()
    this.#input.applyFlowControl()
  }

  #canParse(): boolean {
    const { receiving } = this
    return receiving === undefined
      ? this.#state.kind === 'readingHead'
      : receiving.wantsBody || receiving.releasesChunks
  }

  /** Nothing is left to parse meanwhile, so that handlers which resume the request do not parse recursively. */
  #parseNext(): void {
    const bytes = this.#input.take()
    if (bytes === undefined) return
    const end = this.#parser.parse(bytes, 0)
    const { kind } = this.#state
    if (end < bytes.length && kind !== 'finishing' && kind !== 'closing')
      this.#input.append(bytes.subarray(end))
  }

  #becomeIdle(): void {
    // A pipelined request counts as received when it can be served.
    this.#receivedAt = performance.now()
    this.#state = { kind: 'idle', since: this.#receivedAt }
    this.#parse()
  }

  #reject(error: RequestError): void {
    this.#handler.onConnectionError(error.reason, this.peer, error.message)
    const state = this.#state
    if (state.kind === 'drainingBody') {
      this.#close()
      return
    }
    if (state.kind === 'serving') {
      this.#input.take()
      this.#state = { kind: 'finishing', response: state.response }
      state.request.abort()
      // The client would take an error response for the response to its next request.
      if (state.response.hasHead) return
    }
    this.#stop()
    if (state.kind === 'serving') state.response.onConnectionClose()
    const response = this.#handler.errorResponse(error)
    if (response === undefined) this.socket.destroy()
    else closeWithError(this.socket, response)
  }

  /** Sends the last bytes first. */
  #close(): void {
    this.#stop()
    this.#input.applyFlowControl()
    closeGracefully(this.socket)
  }

  /** Closes the connection when the client has, or at the limits of a lingering close. */
  #linger(): void {
    if (this.socket.destroyed || !this.#handler.lingerSlots.acquire(this.peer)) {
      this.#close()
      return
    }
    this.#stop()
    this.#state = { kind: 'lingering', close: new LingeringClose(performance.now()) }
    this.#input.applyFlowControl()
    this.socket.end()
  }

  #abort(): void {
    this.#stop()
    this.socket.destroy()
  }

  #stop(): void {
    const state = this.#state
    this.#state = closing
    this.#input.take()
    if (state.kind === 'queued') this.#handler.scheduler.cancel(this.#startRequest)
    if (state.kind === 'lingering') this.#handler.lingerSlots.release(this.peer)
    if (state.kind === 'serving' || state.kind === 'drainingBody') state.request.abort()
  }

  readonly #onDrain = (): void => {
    const state = this.#state
    if (state.kind === 'serving' || state.kind === 'finishing') state.response.onDrain.call()
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    if (this.#state.kind === 'queued') {
      this.#handler.scheduler.cancel(this.#startRequest)
      this.#startRequest()
    } else this.#finishEnded()
  }

  /** The client has closed its side. Its complete requests get their responses (RFC 9112, section 9.6), then it is closed. */
  #finishEnded(): void {
    const state = this.#state
    if (!this.#input.isEmpty) return
    if (state.kind === 'serving' && state.request.isComplete) state.response.keepAlive = false
    else if (state.kind === 'opened' || state.kind === 'idle') this.socket.end()
    else if (state.kind === 'readingHead' || 'request' in state)
      this.#reject(new RequestError('incomplete_request', 'the connection ended before the request'))
  }

  /** A client that has closed its side is waited for no longer than one that reads nothing: it may have left. */
  readonly #onTimeout = (): void => {
    const { kind } = this.#state
    const isStuck = this.socket.writableLength > 0 || this.#hasEnded
    if ((kind !== 'serving' && kind !== 'finishing') || !isStuck) return
    this.#handler.onConnectionError('send_timeout', this.peer)
    this.destroy()
  }

  readonly #onClose = (): void => {
    const state = this.#state
    this.#input.close()
    try {
      this.#stop()
    } finally {
      if (state.kind === 'serving' || state.kind === 'finishing') state.response.onConnectionClose()
    }
  }
}
