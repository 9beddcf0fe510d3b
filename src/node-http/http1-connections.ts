import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { ConnectionAddresses } from '../lib/net/connection-addresses.ts'
import { isDisconnect } from '../lib/net/is-disconnect.ts'
import { closeWithError } from '../http1/server/error-response.ts'
import { RequestError, malformed } from '../http1/server/request-error.ts'
import type { ConnectionTimeouts } from '../http1/server/connection-state.ts'
import { ConnectionAge } from '../http1/server/connection-age.ts'
import type {
  ConnectionOwner,
  ConnectionServer,
  ServedConnection,
} from '../http1/server/served-connection.ts'
import { createNodeRequests, type NodeRequestHandler, type NodeRequests } from './node-requests.ts'
import { PipelinedRequests } from './pipelined-requests.ts'

export interface Http1ConnectionsOptions {
  readonly maxHeadBytes: number
  readonly timeouts: ConnectionTimeouts
}

/** Creates a server of HTTP/1.1 on node:http. It never listens: connections are handed to it. */
export function createHttp1Connections(
  { maxHeadBytes, timeouts }: Http1ConnectionsOptions,
  handler: NodeRequestHandler & { refuseConnect(socket: Duplex, addresses: ConnectionAddresses): void },
): ConnectionServer {
  const connections = new WeakMap<Duplex, Http1Connection>()
  const requests = createNodeRequests(handler, {
    isLast: (socket: Socket) => connections.get(socket)?.isLast ?? true,
    onLastResponse: (socket) => connections.get(socket)?.close(),
    keepAliveSeconds: Math.floor(timeouts.keepAliveTimeoutMs / 1000),
  })
  const server = createServer(
    {
      maxHeaderSize: maxHeadBytes,
      keepAliveTimeout: timeouts.keepAliveTimeoutMs,
      // The listener checks heads, and the handler bodies.
      headersTimeout: 0,
      requestTimeout: 0,
      // The handler refuses it in its own format.
      requireHostHeader: false,
    },
    serve,
  )
  // No header may be dropped unseen; their size is limited.
  server.maxHeadersCount = 0
  server
    .on('checkContinue', serve)
    .on('checkExpectation', serve)
    .on('connect', (_request: IncomingMessage, socket: Duplex) => {
      const connection = connections.get(socket)
      connection?.whenIdle(() => handler.refuseConnect(socket, connection.addresses))
    })
    .on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
      // Bytes behind a request that is the last one are ignored.
      if (error.code !== 'HPE_CLOSED_CONNECTION' && !isDisconnect(error))
        connections.get(socket)?.reject(toRequestError(error, Reflect.get(error, 'rawPacket')))
    })

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket)
    connection?.serve(request, response, () =>
      requests.takeHttp1(request, response, connection.addresses, handler.onRequest),
    )
  }

  return {
    serve(socket, addresses, owner) {
      const connection = new Http1Connection(socket, addresses, { timeouts, handler, requests, owner })
      connections.set(socket, connection)
      server.emit('connection', socket)
      // Bytes that were read before are buffered, and the socket is paused.
      process.nextTick(() => socket.resume())
      return connection
    },
  }
}

const tlsHandshake = 0x16

/** Converts an error of the parser. */
function toRequestError({ code, message }: NodeJS.ErrnoException, received: unknown): RequestError {
  if (code === 'HPE_HEADER_OVERFLOW') return new RequestError('headers_too_large', message)
  if (code === 'HPE_INVALID_EOF_STATE') return new RequestError('incomplete_request', message)
  const isTls = Buffer.isBuffer(received) && received[0] === tlsHandshake
  return isTls ? new RequestError('tls_on_plain_port', 'TLS on a port without TLS') : malformed(message)
}

interface Http1ConnectionOptions {
  readonly timeouts: ConnectionTimeouts
  readonly handler: NodeRequestHandler
  readonly requests: NodeRequests
  readonly owner: ConnectionOwner
}

/** A connection whose requests node:http parses. */
class Http1Connection implements ServedConnection {
  readonly addresses: ConnectionAddresses
  readonly #socket: Socket
  readonly #options: Http1ConnectionOptions
  readonly #age: ConnectionAge
  readonly #pipelined: PipelinedRequests
  /** Since when nothing, or only a part of a head, has been received. */
  #since = performance.now()
  #isReadingHead = false
  #hasServed = false
  #isRevoked = false
  /** The last response was sent; its upload may be discarded before the connection closes. */
  #isClosing = false
  #bytesReadBefore: number

  constructor(socket: Socket, addresses: ConnectionAddresses, options: Http1ConnectionOptions) {
    this.addresses = addresses
    this.#socket = socket
    this.#options = options
    this.#age = new ConnectionAge(options.timeouts.maxConnectionAgeMs)
    this.#pipelined = new PipelinedRequests(socket)
    this.#bytesReadBefore = socket.bytesRead
    socket
      // `close` follows. Node removes its own listener before it emits `connect`.
      .on('error', () => undefined)
      .once('close', () => options.owner.onClose(this))
  }

  get isBusy(): boolean {
    return this.#pipelined.active !== undefined && !this.#isClosing
  }

  get isLast(): boolean {
    return this.#isRevoked || this.#options.owner.isDraining || this.#age.isExpired
  }

  serve(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    this.#hasServed = true
    this.#pipelined.add(request, response, start)
    response.once('close', () => {
      this.#since = performance.now()
      this.#isReadingHead = false
      this.#bytesReadBefore = this.#socket.bytesRead
    })
  }

  /** Calls `callback` after the responses to all requests, unless one of them closes the connection. */
  whenIdle(callback: () => void): void {
    this.#pipelined.whenIdle(callback)
  }

  /** Serves no further request. */
  close(): void {
    this.#isClosing = true
    this.#pipelined.close()
  }

  drain(): void {
    // Each response asks `isLast`.
  }

  revoke(): void {
    this.#isRevoked = true
    this.#pipelined.close()
    if (this.#pipelined.active !== undefined && !this.#isClosing)
      this.#pipelined.whenIdle(() => this.#socket.destroy())
    else this.#socket.destroy()
  }

  /** A response of HTTP/1.0 may end with its connection, so an incomplete one resets TCP, and omits close_notify in TLS. */
  destroy(): void {
    if (this.isBusy && !(this.#socket instanceof TLSSocket)) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  closeIfIdle(): boolean {
    if (this.isBusy || this.#socket.destroyed) return false
    this.#socket.destroy()
    return true
  }

  checkTimeouts(now: number): void {
    if (this.isBusy || this.#isClosing) return
    const { headersTimeoutMs, keepAliveTimeoutMs } = this.#options.timeouts
    if (!this.#isReadingHead && this.#socket.bytesRead > this.#bytesReadBefore) {
      this.#isReadingHead = true
      if (this.#hasServed) this.#since = now
    }
    const waitedMs = now - this.#since
    if (this.#isReadingHead && waitedMs > headersTimeoutMs)
      this.#respond(new RequestError('request_timeout', 'the head was not received in time'))
    else if (!this.#hasServed && waitedMs > headersTimeoutMs)
      this.#respond(new RequestError('idle_timeout', 'no request on a new connection'))
    else if (this.#hasServed && !this.#isReadingHead && waitedMs > keepAliveTimeoutMs) this.#socket.destroy()
  }

  /** Responds to bytes that are not a request, after the requests before them. */
  reject(error: RequestError): void {
    this.#pipelined.dropIncomplete()
    const { active } = this.#pipelined
    if (active === undefined || active.request.complete) {
      this.#pipelined.whenIdle(() => this.#respond(error))
      return
    }
    // The body of the active request is malformed.
    this.#options.requests.abortBody(active.request)
    if (active.response.headersSent) this.#pipelined.whenIdle(() => this.#socket.destroy())
    else this.#respond(error)
  }

  #respond(error: RequestError): void {
    const { handler } = this.#options
    handler.onConnectionError(error.reason, this.addresses, error.message)
    const response = handler.errorResponse(error)
    if (response === undefined) this.#socket.destroy()
    else closeWithError(this.#socket, response)
  }
}
