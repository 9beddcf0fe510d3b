import {
  constants,
  createServer,
  type Http2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { ConnectionAddresses } from '../lib/net/connection-addresses.ts'
import { isDisconnect } from '../lib/net/is-disconnect.ts'
import { ConnectionAge } from '../http1/server/connection-age.ts'
import type {
  ConnectionOwner,
  ConnectionServer,
  ServedConnection,
} from '../http1/server/served-connection.ts'
import type { ConnectionTimeouts } from '../http1/server/connection-state.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import type { NodeResponse } from './node-response.ts'
import { StreamAborted } from './stream-aborted.ts'
import { createNodeRequests, type NodeRequestHandler } from './node-requests.ts'

export interface Http2ConnectionsOptions {
  readonly maxHeadBytes: number
  readonly maxHeaderCount: number
  readonly timeouts: ConnectionTimeouts
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

/**
 * A session is closed if it has received more bytes than this that belong neither to a request nor to a body: a flood of
 * empty, padded or control frames (CVE-2019-9511 to 9518). To that adds what ordinary clients need, by
 * `countExpectedBytes`.
 */
const maxIdleFrameBytes = 256 * 1024
/** A byte of a body in a frame of its own: 9 bytes are the head of the frame. */
const maxBytesPerBodyByte = 10

/** Time for a session to end after GOAWAY. */
const closedSessionMs = 1_000

/** Creates a server of HTTP/2 on node:http2. It never listens: connections are handed to it. */
export function createHttp2Connections(
  { maxHeadBytes, maxHeaderCount, timeouts }: Http2ConnectionsOptions,
  handler: NodeRequestHandler,
): ConnectionServer {
  const requests = createNodeRequests(handler)
  const connections = new WeakMap<Http2Session, Http2Connection>()
  // The types of Node do not have the option for whitespace yet.
  const options: ServerOptions & { readonly strictFieldWhitespaceValidation: boolean } = {
    maxSessionMemory,
    maxHeaderListPairs: maxHeaderCount + extraHeaders,
    // Shows values with a space or a tab around them, which are refused. Node 20 always drops such fields.
    strictFieldWhitespaceValidation: false,
    settings: {
      maxConcurrentStreams: maxStreams,
      initialWindowSize: streamWindowBytes,
      // Each frame of an upload is handled on its own, and ends at a window anyway: the default, 16 KiB, costs half as much again.
      maxFrameSize: streamWindowBytes,
      maxHeaderListSize: maxHeadBytes,
    },
  }
  const server = createServer(options)
  server.on('stream', (stream, _headers, _flags, rawHeaders) => {
    // `close` follows. Without a listener, the reset of a stream would end the process.
    stream.on('error', () => undefined)
    const connection = stream.session && connections.get(stream.session)
    if (connection === undefined) return
    requests.takeHttp2(stream, rawHeaders, connection.addresses, (incoming, outgoing) => {
      connection.countBody(incoming, outgoing)
      handler.onRequest(incoming, outgoing)
    })
  })

  return {
    serve(socket, addresses, owner) {
      let connection: Http2Connection | undefined
      server.once('session', (session) => {
        connection = new Http2Connection(session, socket, { addresses, timeouts, handler, owner })
        connections.set(session, connection)
      })
      server.emit('connection', socket)
      if (connection === undefined) throw new Error('node:http2 opened no session')
      // The session has taken the bytes that were read before; a paused socket would not report its end.
      if (socket.isPaused()) setImmediate(() => socket.resume())
      return connection
    },
  }
}

interface Http2ConnectionOptions {
  readonly addresses: ConnectionAddresses
  readonly timeouts: ConnectionTimeouts
  readonly handler: NodeRequestHandler
  readonly owner: ConnectionOwner
}

/** A session of HTTP/2. */
class Http2Connection implements ServedConnection {
  readonly addresses: ConnectionAddresses
  readonly #session: ServerHttp2Session
  readonly #socket: Socket
  readonly #timeouts: ConnectionTimeouts
  readonly #age: ConnectionAge
  readonly #handler: NodeRequestHandler
  #streams = 0
  #openedStreams = 0
  #prematureResets = 0
  /** Requests whose body may still be received. */
  readonly #receiving = new Set<IncomingRequest>()
  /** Of the bodies of all other requests. */
  #bodyBytes = 0
  #idleSince = performance.now()

  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    { addresses, timeouts, handler, owner }: Http2ConnectionOptions,
  ) {
    this.addresses = addresses
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
      .on('error', (error: NodeJS.ErrnoException) => {
        if (!isDisconnect(error)) this.#reportError(error.message)
      })
    socket
      // A client that has closed its side does not get the rest of its responses either.
      .once('end', () => this.destroy())
      .once('close', () => owner.onClose(this))
  }

  get isBusy(): boolean {
    return this.#streams > 0
  }

  /** Counts the body of a request until its response is complete. */
  countBody(request: IncomingRequest, response: NodeResponse): void {
    this.#receiving.add(request)
    response.onClose.add(() => {
      this.#receiving.delete(request)
      this.#bodyBytes += request.receivedBytes
    })
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
    this.#closeOnIdleFrames()
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
    if (isFlood) this.#refuse(`${this.#prematureResets} of ${this.#openedStreams} streams were reset`)
  }

  #closeOnIdleFrames(): void {
    const { bytesRead } = this.#socket
    const idleBytes = bytesRead - this.#countExpectedBytes()
    if (idleBytes > maxIdleFrameBytes) this.#refuse(`${idleBytes} of ${bytesRead} bytes belong to no request`)
  }

  /**
   * At most what ordinary clients send: a head and an unread window for each stream, bodies in frames of a byte or more,
   * and updates of windows for what they receive.
   */
  #countExpectedBytes(): number {
    let bodyBytes = this.#bodyBytes
    for (const request of this.#receiving) bodyBytes += request.receivedBytes
    return (
      this.#openedStreams * streamWindowBytes +
      bodyBytes * maxBytesPerBodyByte +
      this.#socket.bytesWritten / 2
    )
  }

  #refuse(cause: string): void {
    if (this.#socket.destroyed) return
    this.#reportError(cause)
    this.destroy()
  }

  #reportError(cause: string): void {
    this.#handler.onConnectionError('http2_error', this.addresses, cause)
  }
}
