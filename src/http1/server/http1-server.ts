import { createServer, type Server, type Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls'
import type { ErrorResponse } from './error-response.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { LingerSlots } from './lingering-close.ts'
import type { OutgoingResponse } from './outgoing-response.ts'
import type { RequestError, RequestErrorReason } from './request-error.ts'
import type { RequestScheduler } from './request-queue.ts'
import { ServerConnection, type ConnectionHandler, type ConnectionTimeouts } from './server-connection.ts'

/** Why a connection was closed without a response to a request. */
export type ConnectionErrorReason =
  | RequestErrorReason
  | 'certificate'
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
  const { timeouts, maxConnections, maxConnectionsPerAddress, tls } = options
  const { headersTimeoutMs } = timeouts
  /** TCP connections with and without TLS. */
  const sockets = new Set<Socket>()
  const connections = new Set<ServerConnection>()
  const connectionsByAddress = new Map<string, number>()
  /** Without a TLS session yet, by peer. */
  const handshakes = new Map<string, Socket>()
  const connectionsWithCertificate = new Set<ServerConnection>()
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
    onRequest: handler.onRequest,
    onRequestError: ({ reason, message }, remoteAddress) =>
      handler.onConnectionError(reason, remoteAddress, message),
    errorResponse: handler.errorResponse,
    onSendTimeout: (remoteAddress) => handler.onConnectionError('send_timeout', remoteAddress),
    onClose(connection) {
      connections.delete(connection)
      connectionsWithCertificate.delete(connection)
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
      ALPNProtocols: ['http/1.1'],
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

  function serve(socket: Socket): ServerConnection | undefined {
    if (socket.destroyed) return undefined
    const connection = new ServerConnection(socket, connectionHandler)
    connections.add(connection)
    const intervalMs = Math.min(maxTimeoutCheckIntervalMs, Math.ceil(headersTimeoutMs / 4))
    timeoutChecks ??= setInterval(checkTimeouts, intervalMs).unref()
    return connection
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
