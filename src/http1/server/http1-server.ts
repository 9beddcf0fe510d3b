import { createServer, type Server, type Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  TLSSocket,
} from 'node:tls'
import type { ErrorResponse } from './error-response.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { LingerSlots } from './lingering-close.ts'
import type { OutgoingResponse } from './outgoing-response.ts'
import type { RequestError, RequestErrorReason } from './request-error.ts'
import type { RequestScheduler } from './request-queue.ts'
import { PrefaceReader } from './preface-reader.ts'
import type { ConnectionServer, ServedConnection } from './served-connection.ts'
import { ServerConnection, type ConnectionHandler, type ConnectionTimeouts } from './server-connection.ts'

/** Why a connection was closed without a response to a request. */
export type ConnectionErrorReason =
  | RequestErrorReason
  | 'certificate'
  | 'http2_error'
  | 'send_timeout'
  | 'tls_handshake'
  | 'too_many_connections'
  | 'too_many_connections_of_client'

export interface Http1ServerOptions {
  readonly maxHeadBytes: number
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number | undefined
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
  /** Undefined for plain HTTP. */
  readonly tls: Http1ServerTls | undefined
  /** Undefined: HTTP/1.1 alone, by the parser here. */
  readonly others?: OtherServers
}

/** Servers that get connections which the listener has accepted. */
export interface OtherServers {
  /** Of HTTP/2; with TLS, it is offered by ALPN. */
  readonly http2: ConnectionServer | undefined
  /** Without TLS: whether a connection that begins with the preface of HTTP/2 gets it (RFC 9113, section 3.3). */
  readonly h2c: boolean
  /** Of HTTP/1.1, by another parser. */
  readonly http1: ConnectionServer | undefined
  /** Which targets take a connection to `http1`; undefined: it gets every connection, from the start. */
  readonly handsOver: ((target: string) => boolean) | undefined
}

interface Http1ServerTls {
  readonly clientCertificate: 'none' | 'optional' | 'required'
  readonly context: SecureContextOptions
}

export interface Http1ServerHandler {
  readonly onRequest: (request: IncomingRequest, response: OutgoingResponse) => void
  /** A connection was closed, or could not be accepted; `cause` is for logs. */
  readonly onConnectionError: (
    reason: ConnectionErrorReason,
    remoteAddress: string | undefined,
    cause?: string,
  ) => void
  readonly errorResponse: (error: RequestError) => ErrorResponse | undefined
}

export interface Http1Server {
  readonly server: Server
  readonly isListening: boolean
  /** Resolves with the port. */
  listen(address: { readonly host: string; readonly port: number }): Promise<number>
  /**
   * If authorities or revocation list change, connections with a client certificate end after their response: TLS
   * verifies only new ones.
   */
  setCertificates(context: SecureContextOptions): void
  /** Makes the current or next response of each connection its last one. */
  drain(): void
  /** Accepts no new connections and closes idle ones. Resolves when all connections are closed. */
  stopAccepting(): Promise<void>
  connectionCount(): number
  isBusy(): boolean
  destroyAll(): void
}

const maxTimeoutCheckIntervalMs = 1_000
/** Node accepts one connection per tick, and clients retry a dropped one only after a second. */
const backlog = 4_096

export function createHttp1Server(options: Http1ServerOptions, handler: Http1ServerHandler): Http1Server {
  const { timeouts, maxConnections, maxConnectionsPerAddress, tls, others } = options
  const { headersTimeoutMs } = timeouts
  /** TCP connections with and without TLS. */
  const sockets = new Set<Socket>()
  const connections = new Set<ServedConnection>()
  const connectionsByAddress = new Map<string, number>()
  /** Without a TLS session yet, by peer. */
  const handshakes = new Map<string, Socket>()
  const connectionsWithCertificate = new Set<ServedConnection>()
  let currentContext = tls?.context
  /** A certificate is verified by the context in force when TCP was accepted. */
  const contextByPeer = new Map<string, SecureContextOptions | undefined>()
  let timeoutChecks: NodeJS.Timeout | undefined
  const connectionHandler: ConnectionHandler & { isDraining: boolean } = {
    maxHeadBytes: options.maxHeadBytes,
    timeouts,
    scheduler: options.scheduler,
    lingerSlots: new LingerSlots(),
    isDraining: false,
    handsOver: others?.http1 && others.handsOver,
    onRequest: handler.onRequest,
    onRequestError: ({ reason, message }, remoteAddress) =>
      handler.onConnectionError(reason, remoteAddress, message),
    errorResponse: handler.errorResponse,
    onSendTimeout: (remoteAddress) => handler.onConnectionError('send_timeout', remoteAddress),
    onClose(connection) {
      connections.delete(connection)
      connectionsWithCertificate.delete(connection)
    },
    onHandOver(connection) {
      if (others?.http1 !== undefined)
        replace(connection, others.http1.serve(connection.socket, connectionHandler))
    },
  }
  const tlsServer = tls && createTls(tls)
  const server: Server = tlsServer ?? createServer(tcpOptions, serve)
  server.prependListener('connection', acceptOrClose)
  // The system could not accept a connection: too many open files.
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (server.listening) handler.onConnectionError('too_many_connections', undefined, error.code)
  })

  function createTls({ clientCertificate, context }: Http1ServerTls): TlsServer {
    const secure = createTlsServer({
      ...tcpOptions,
      ALPNProtocols: others?.http2 === undefined ? ['http/1.1'] : ['h2', 'http/1.1'],
      handshakeTimeout: headersTimeoutMs,
      requestCert: clientCertificate !== 'none',
      // Node would accept an optional certificate that is invalid: it is rejected below.
      rejectUnauthorized: clientCertificate === 'required',
      ...context,
    })
    secure.on('secureConnection', (socket: TLSSocket) => {
      handshakes.delete(formatPeer(socket))
      const hasCertificate = socket.getPeerX509Certificate() !== undefined
      const isStale = contextByPeer.get(formatPeer(socket)) !== currentContext
      const isInvalid = clientCertificate === 'optional' && !socket.authorized
      if (hasCertificate && (isStale || isInvalid)) {
        const cause = isStale ? 'verified by previous authorities' : String(socket.authorizationError)
        handler.onConnectionError('certificate', socket.remoteAddress, cause)
        socket.destroy()
        return
      }
      const connection = serve(socket)
      if (hasCertificate && connection !== undefined) connectionsWithCertificate.add(connection)
    })
    secure.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      // A client that aborts the handshake is not an error.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE')
        handler.onConnectionError('tls_handshake', socket.remoteAddress, error.code)
      socket.destroy()
    })
    return secure
  }

  function serve(socket: Socket): ServedConnection | undefined {
    if (socket.destroyed) return undefined
    const connection = openConnection(socket)
    connections.add(connection)
    const intervalMs = Math.min(maxTimeoutCheckIntervalMs, Math.ceil(headersTimeoutMs / 4))
    timeoutChecks ??= setInterval(checkTimeouts, intervalMs).unref()
    return connection
  }

  function openConnection(socket: Socket): ServedConnection {
    const http2 = others?.http2
    if (http2 === undefined) return openHttp1Connection(socket)
    if (socket instanceof TLSSocket)
      return socket.alpnProtocol === 'h2'
        ? http2.serve(socket, connectionHandler)
        : openHttp1Connection(socket)
    if (!others?.h2c) return openHttp1Connection(socket)
    return new PrefaceReader(
      socket,
      connectionHandler,
      headersTimeoutMs,
      (reader, isHttp2) =>
        replace(reader, isHttp2 ? http2.serve(socket, connectionHandler) : openHttp1Connection(socket)),
      (reason) => handler.onConnectionError(reason, socket.remoteAddress),
    )
  }

  function openHttp1Connection(socket: Socket): ServedConnection {
    return others?.http1 !== undefined && others.handsOver === undefined
      ? others.http1.serve(socket, connectionHandler)
      : new ServerConnection(socket, connectionHandler)
  }

  function replace(before: ServedConnection, after: ServedConnection): void {
    connections.delete(before)
    connections.add(after)
    if (connectionsWithCertificate.delete(before)) connectionsWithCertificate.add(after)
  }

  function checkTimeouts(): void {
    // After a suspension of the process, unread bytes of clients are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of connections) connection.checkTimeouts(now)
    })
  }

  /** Frees a place for a new client, preferably one without a TLS session. Returns whether it closed a connection. */
  function closeOldestIdle(): boolean {
    const [oldest] = handshakes
    if (oldest !== undefined) {
      const [peer, socket] = oldest
      handshakes.delete(peer)
      socket.destroy()
      return true
    }
    for (const connection of connections) if (connection.closeIfIdle()) return true
    return false
  }

  function acceptOrClose(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    const others = connectionsByAddress.get(address) ?? 0
    // Before a connection is closed for this one: an address at its limit must not shut others out.
    if (maxConnectionsPerAddress !== undefined && others >= maxConnectionsPerAddress) {
      socket.destroy()
      handler.onConnectionError('too_many_connections_of_client', address)
      return
    }
    if (sockets.size >= maxConnections && !closeOldestIdle()) {
      socket.destroy()
      handler.onConnectionError('too_many_connections', address)
      return
    }
    const peer = formatPeer(socket)
    sockets.add(socket)
    connectionsByAddress.set(address, others + 1)
    contextByPeer.set(peer, currentContext)
    if (tls !== undefined) handshakes.set(peer, socket)
    socket.once('close', () => {
      sockets.delete(socket)
      contextByPeer.delete(peer)
      handshakes.delete(peer)
      const left = (connectionsByAddress.get(address) ?? 1) - 1
      if (left > 0) connectionsByAddress.set(address, left)
      else connectionsByAddress.delete(address)
    })
  }

  return {
    server,
    get isListening() {
      return server.listening
    },
    listen: ({ host, port }) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ host, port, backlog }, () => {
          server.off('error', reject)
          const address = server.address()
          resolve(typeof address === 'object' && address !== null ? address.port : port)
        })
      }),
    setCertificates(context) {
      tlsServer?.setSecureContext(context)
      if (context.ca === currentContext?.ca && context.crl === currentContext?.crl) return
      currentContext = context
      for (const connection of connectionsWithCertificate) connection.revoke()
    },
    drain() {
      connectionHandler.isDraining = true
      for (const connection of connections) connection.drain()
    },
    stopAccepting() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => {
          clearInterval(timeoutChecks)
          resolve()
        })
      })
      for (const connection of connections) connection.closeIfIdle()
      return closed
    },
    connectionCount: () => sockets.size,
    isBusy: () => [...connections].some(({ isBusy }) => isBusy),
    destroyAll() {
      for (const connection of connections) connection.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Half-open, so that a client that ends in the middle of a request gets an error response. */
const tcpOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true }

function formatPeer({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
