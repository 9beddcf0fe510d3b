import {
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { ConnectionAge } from '../http1/server/connection-age.ts'
import type {
  ConnectionOwner,
  ConnectionServer,
  ServedConnection,
} from '../http1/server/served-connection.ts'
import type { ConnectionTimeouts } from '../http1/server/connection-state.ts'
import { intercept, type Interceptor } from './interceptor.ts'
import { StreamAborted } from './stream-aborted.ts'
import { createNodeRequests, type NodeRequestHandler } from './node-requests.ts'

export interface Http2ConnectionsOptions {
  readonly maxHeadBytes: number
  readonly maxHeaderCount: number
  readonly timeouts: ConnectionTimeouts
  /** Takes requests that are not for the handler. */
  readonly interceptor: Interceptor | undefined
}

/** Streams of a session at a time (RFC 9113, section 6.5.2, recommends at least 100). */
const maxStreams = 100
/** Bytes of a body that a client may send before they are read. */
const streamWindowBytes = 256 * 1024
/** All streams of a session together: an upload that is not read cannot block the others. */
const sessionWindowBytes = maxStreams * streamWindowBytes
/** In MB: the windows, and responses that wait for the client. */
const maxSessionMemory = 64
/** `:method`, `:scheme`, `:authority` and `:path`, and one too many for the handler to refuse. */
const extraHeaders = 5

/**
 * A session is closed if it has opened this many streams, and most of them ended before their response: a flood of resets
 * (CVE-2023-44487), or of requests that make the server reset (CVE-2025-8671). Envoy has the same limit.
 */
const minStreamsOfFlood = 500

/** Time for a session to end after GOAWAY. */
const closedSessionMs = 1_000

/** Creates a server of HTTP/2 on node:http2. It never listens: connections are handed to it. */
export function createHttp2Connections(
  { maxHeadBytes, maxHeaderCount, timeouts, interceptor }: Http2ConnectionsOptions,
  handler: NodeRequestHandler,
): ConnectionServer {
  const requests = createNodeRequests(handler)
  const server = createServer(
    {
      maxSessionMemory,
      maxHeaderListPairs: maxHeaderCount + extraHeaders,
      settings: {
        maxConcurrentStreams: maxStreams,
        initialWindowSize: streamWindowBytes,
        maxHeaderListSize: maxHeadBytes,
      },
    },
    serve,
  )
  server.on('checkContinue', serve).on('connect', serve)

  function serve(request: Http2ServerRequest, response: Http2ServerResponse): void {
    requests.takeHttp2(request, response, intercept(interceptor, { request, response }))
  }

  return {
    serve(socket, owner) {
      let connection: Http2Connection | undefined
      server.once('session', (session) => {
        connection = new Http2Connection(session, socket, timeouts, handler, owner)
      })
      server.emit('connection', socket)
      if (connection === undefined) throw new Error('node:http2 opened no session')
      // The session has taken the bytes that were read before; a paused socket would not report its end.
      if (socket.isPaused()) setImmediate(() => socket.resume())
      return connection
    },
  }
}

/** A session of HTTP/2. */
class Http2Connection implements ServedConnection {
  readonly #session: ServerHttp2Session
  readonly #socket: Socket
  readonly #timeouts: ConnectionTimeouts
  readonly #age: ConnectionAge
  readonly #handler: NodeRequestHandler
  #streams = 0
  #openedStreams = 0
  #prematureResets = 0
  #idleSince = performance.now()

  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    timeouts: ConnectionTimeouts,
    handler: NodeRequestHandler,
    owner: ConnectionOwner,
  ) {
    this.#session = session
    this.#socket = socket
    this.#timeouts = timeouts
    this.#handler = handler
    this.#age = new ConnectionAge(timeouts.maxConnectionAgeMs)
    session.setLocalWindowSize(sessionWindowBytes)
    session
      .on('stream', (stream) => {
        this.#streams += 1
        this.#openedStreams += 1
        if (owner.isDraining || this.#age.isExpired) this.drain()
        stream.once('close', () => this.#streamClosed(stream))
      })
      // The client sends something other than HTTP/2, or a flood.
      .on('error', (error: Error) => this.#reportError(error.message))
    socket
      // A client that has closed its side does not get the rest of its responses either.
      .once('end', () => this.destroy())
      .once('close', () => owner.onClose(this))
  }

  get isBusy(): boolean {
    return this.#streams > 0
  }

  /** Sends GOAWAY: streams that the client opens later are not served, and it may repeat them elsewhere. */
  drain(): void {
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close()
  }

  revoke(): void {
    this.drain()
  }

  destroy(): void {
    this.#session.destroy()
    this.#socket.destroy()
  }

  closeIfIdle(): boolean {
    if (this.isBusy || this.#socket.destroyed) return false
    this.destroy()
    return true
  }

  checkTimeouts(now: number): void {
    if (this.#age.isExpired) this.drain()
    if (this.isBusy) return
    const { headersTimeoutMs, keepAliveTimeoutMs } = this.#timeouts
    const idleMs = now - this.#idleSince
    // A client that resets its streams may leave the connection of a closed session open.
    if (this.#session.closed && idleMs > closedSessionMs) this.destroy()
    else if (idleMs > (this.#openedStreams > 0 ? keepAliveTimeoutMs : headersTimeoutMs)) this.drain()
  }

  #streamClosed(stream: ServerHttp2Stream): void {
    this.#streams -= 1
    if (this.#streams === 0) this.#idleSince = performance.now()
    const isReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR || !stream.headersSent
    if (!isReset || stream.errored instanceof StreamAborted) return
    this.#prematureResets += 1
    const isFlood =
      this.#openedStreams >= minStreamsOfFlood && this.#prematureResets > this.#openedStreams / 2
    if (!isFlood || this.#socket.destroyed) return
    this.#reportError(`${this.#prematureResets} of ${this.#openedStreams} streams were reset`)
    this.destroy()
  }

  #reportError(cause: string): void {
    this.#handler.onConnectionError('http2_error', this.#socket.remoteAddress ?? '', cause)
  }
}
