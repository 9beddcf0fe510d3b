import type { Socket } from 'node:net'
import { closeGracefully, ownedBy } from '../../lib/index.ts'
import { SocketReader, type SocketReaderHandler } from '../codec/socket-reader.ts'
import type { ConnectionHandler, ConnectionState, StateBeforeRequest } from './connection-state.ts'
import { closeWithError, RequestError } from './request-error.ts'
import { IncomingRequest, type RequestConnection } from './incoming-request.ts'
import { OutgoingResponse, type ResponseConnection } from './outgoing-response.ts'
import type { RequestHead } from './request-head.ts'
import { RequestParser, type RequestParserHandler } from './request-parser.ts'

const closing: ConnectionState = { kind: 'closing' }

/** Maximum ratio of the age that is subtracted at random, so that simultaneous connections do not expire together. */
const ageJitter = 0.1

/** Once as many bytes cannot be parsed yet, nothing more is read. The end of the connection is noticed until then. */
const maxUnparsedBytes = 16 * 1024

/** Bytes that are discarded before a connection closes: the client may have sent them before it saw the response. */
const maxDiscardedBytes = 256 * 1024

/** A downstream connection. Serves one request at a time; pipelined bytes stay unread until the response is complete. */
export class ServerConnection
  implements RequestConnection, ResponseConnection, RequestParserHandler, SocketReaderHandler
{
  readonly socket: Socket
  readonly peer: string
  readonly keepAliveSeconds: number
  #state: ConnectionState
  readonly #handler: ConnectionHandler
  readonly #parser: RequestParser
  readonly #reader = new SocketReader(this)
  /** Received bytes that cannot be parsed yet. */
  #unparsed: Buffer | undefined
  /** Whether the client has closed its side. */
  #hasEnded = false
  #discardedBytes = 0
  #receivedAt = performance.now()
  /** When the next response is the last one, on the clock of performance.now(). */
  readonly #expiresAt: number

  constructor(accepted: Socket, peer: string, handler: ConnectionHandler) {
    const { keepAliveTimeoutMs, maxConnectionAgeMs, sendTimeoutMs } = handler.timeouts
    this.socket = this.#reader.accept(accepted)
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
    const state = this.#state
    const { kind } = state
    if (kind !== 'opened' && kind !== 'readingHead' && kind !== 'idle') return
    const { headersTimeoutMs, keepAliveTimeoutMs } = this.#handler.timeouts
    if (now - state.since <= (kind === 'idle' ? keepAliveTimeoutMs : headersTimeoutMs)) return
    if (kind === 'idle') this.#abort()
    else if (kind === 'opened')
      this.#reject(new RequestError('idle_timeout', 'no request on a new connection'))
    else this.#reject(new RequestError('request_timeout', 'the head was not received in time'))
  }

  get retainsChunks(): boolean {
    return this.#receiving?.releasesChunks === true
  }

  get wantsPause(): boolean {
    const isPaused = this.retainsChunks && this.#receiving?.wantsBody === false
    return isPaused || (this.#unparsed?.length ?? 0) >= maxUnparsedBytes
  }

  /** The request whose body is being received. */
  get #receiving(): IncomingRequest | undefined {
    const state = this.#state
    return 'request' in state && !state.request.isComplete ? state.request : undefined
  }

  applyFlowControl(): void {
    this.#parse()
  }

  onResponseEnd(): void {
    const state = this.#state
    if (state.kind === 'finishing') this.#close()
    if (state.kind !== 'serving') return
    const { request, response } = state
    const { keepAlive, drains } = response
    if (this.socket.destroyed || (!keepAlive && (request.isComplete || !drains))) this.#close()
    else if (request.isComplete) this.#becomeIdle()
    else {
      this.#state = { kind: 'drainingBody', request, keepAlive }
      if (!keepAlive) this.socket.end()
    }
  }

  onRequestStart(head: RequestHead): void {
    const request = new IncomingRequest(head, this.#receivedAt, this)
    const response = new OutgoingResponse(request, this)
    if (this.#handler.isDraining) response.keepAlive = false
    this.#state = { kind: 'serving', request, response }
    this.#handler.onRequest(request, response)
  }

  onRequestData(chunk: Buffer): void {
    const release = this.#reader.retain(chunk)
    this.#receiving?.receive(release ? chunk : this.#reader.copy(chunk), release)
  }

  onRequestEnd(): void {
    const before = this.#state
    if (before.kind === 'serving' || before.kind === 'drainingBody') before.request.complete()
    const state = this.#state
    if (state.kind !== 'drainingBody') return
    if (state.keepAlive) this.#becomeIdle()
    else this.#close()
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
    this.#receivedAt = performance.now()
    this.#unparsed = this.#unparsed === undefined ? bytes : Buffer.concat([this.#unparsed, bytes])
    if (kind === 'queued') this.#reader.applyFlowControl()
    else if (kind === 'opened' || kind === 'idle') this.#enqueue(state)
    else this.#parse()
    if (this.#unparsed !== undefined) this.#unparsed = this.#reader.copy(this.#unparsed)
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
      while (this.#unparsed !== undefined && this.#canParse()) this.#parseNext(this.#unparsed)
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      this.#reject(error)
    }
    const state = this.#state
    if (state.kind === 'readingHead' && !this.#parser.isInMessage) this.#state = state.before
    if (state.kind === 'idle' && this.#unparsed !== undefined) this.#enqueue(state)
    if (this.#hasEnded) this.#finishEnded()
    this.#reader.applyFlowControl()
  }

  #canParse(): boolean {
    const receiving = this.#receiving
    return receiving === undefined
      ? this.#state.kind === 'readingHead'
      : receiving.wantsBody || receiving.releasesChunks
  }

  /** Nothing is left to parse meanwhile, so that handlers which resume the request do not parse recursively. */
  #parseNext(bytes: Buffer): void {
    this.#unparsed = undefined
    const end = this.#parser.parse(bytes, 0)
    const { kind } = this.#state
    if (end < bytes.length && kind !== 'finishing' && kind !== 'closing') this.#unparsed = bytes.subarray(end)
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
      this.#unparsed = undefined
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
    this.#reader.applyFlowControl()
    closeGracefully(this.socket)
  }

  #abort(): void {
    this.#stop()
    this.socket.destroy()
  }

  #stop(): void {
    const state = this.#state
    this.#state = closing
    this.#unparsed = undefined
    if (state.kind === 'queued') this.#handler.scheduler.cancel(this.#startRequest)
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
    if (this.#unparsed !== undefined) return
    if (state.kind === 'serving' && state.request.isComplete) state.response.keepAlive = false
    else if (state.kind === 'opened' || state.kind === 'idle') this.socket.end()
    else if (state.kind === 'drainingBody') this.#close()
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
    this.#reader.close()
    try {
      this.#stop()
    } finally {
      if (state.kind === 'serving' || state.kind === 'finishing') state.response.onConnectionClose()
    }
  }
}
