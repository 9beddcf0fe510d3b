import { createServer, type Server, type Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls'
import { getAddressKey, hasClientCertificate, listenOn, ownedBy, readPeerAddress } from '../lib/index.ts'
import { type ConnectionFailure, type ConnectionHandler, ServerConnection } from '../http1/index.ts'

/** Why a connection was closed without a response to a request. */
export type ConnectionErrorReason =
  | ConnectionFailure
  | 'certificate'
  | 'tls_handshake'
  | 'too_many_connections'
  | 'too_many_connections_of_client'

/** Receives the requests and connection errors of a listener. */
interface ListenerHandler extends Pick<ConnectionHandler, 'onRequest' | 'errorResponse'> {
  /** A connection was closed, or could not be accepted; `cause` is for logs. */
  readonly onConnectionError: (
    reason: ConnectionErrorReason,
    peer: string | undefined,
    cause?: string,
  ) => void
}

export interface ListenerOptions extends Pick<ConnectionHandler, 'maxHeadBytes' | 'timeouts' | 'scheduler'> {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number | undefined
  /** Undefined for plain HTTP. */
  readonly tls: ListenerTls | undefined
  /** Whether a peer is a proxy, whose connections are those of many clients. */
  readonly isTrustedProxy: (peer: string) => boolean
}

interface ListenerTls {
  readonly clientCertificate: 'none' | 'optional' | 'required'
  readonly context: SecureContextOptions
}

export type Listener = ReturnType<typeof createListener>

interface Handshake {
  readonly socket: Socket
  readonly peer: string
  /** In force when TCP was accepted: a certificate is verified by it. */
  readonly context: SecureContextOptions | undefined
}

/** Clients retry a dropped connection only after a second. */
const backlog = 4_096

const maxTimeoutCheckIntervalMs = 1_000

/**
 * Creates a listener that does not listen yet. It accepts connections, limits them, and serves HTTP/1.1 on them. Bytes that
 * are not a request get the error response of the handler.
 */
export function createListener(options: ListenerOptions, handler: ListenerHandler) {
  const { timeouts, maxConnections, maxConnectionsPerAddress, tls, isTrustedProxy } = options
  /** TCP connections with and without TLS. */
  const sockets = new Set<Socket>()
  const connectionHandler = { ...options, ...handler, isDraining: false }
  /** Those that may have sent something, with whether TLS has verified a certificate of the client. */
  const connections = new Map<ServerConnection, boolean>()
  let timeoutChecks: NodeJS.Timeout | undefined
  const connectionsByAddress = new Map<string, number>()
  /** By both ends: a TLS socket does not show the one of TCP beneath it. */
  const handshakes = new Map<string, Handshake>()
  let currentContext = tls?.context
  const tlsServer = tls && createTls(tls)
  const server: Server = createServer(tcpOptions, (socket) => runFor(socket, () => acceptOrClose(socket)))
  // The system could not accept a connection: too many open files.
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (server.listening) handler.onConnectionError('too_many_connections', undefined, error.code)
  })

  function createTls({ clientCertificate, context }: ListenerTls): TlsServer {
    const secure = createTlsServer({
      ...tcpOptions,
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: timeouts.headersTimeoutMs,
      requestCert: clientCertificate !== 'none',
      // Node would accept an optional certificate that is invalid: it is rejected below.
      rejectUnauthorized: clientCertificate === 'required',
      ...context,
    })
    secure.on('secureConnection', (socket: TLSSocket) =>
      runFor(socket, () => serveSecure(socket, clientCertificate)),
    )
    secure.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      const peer = handshakes.get(formatEnds(socket))?.peer
      socket.destroy()
      if (!isDisconnect(error))
        runFor(socket, () => handler.onConnectionError('tls_handshake', peer, error.code))
    })
    return secure
  }

  /** Runs a task of a connection that no request has been received on. */
  function runFor(socket: Socket, task: () => void): void {
    const fail = (error: Error): void => {
      socket.destroy()
      handler.onConnectionError('internal_error', undefined, error.stack)
    }
    ownedBy({ fail }, task)()
  }

  function serveSecure(socket: TLSSocket, clientCertificate: ListenerTls['clientCertificate']): void {
    const handshake = handshakes.get(formatEnds(socket))
    if (handshake === undefined) {
      socket.destroy()
      return
    }
    handshakes.delete(formatEnds(socket))
    const hasCertificate = hasClientCertificate(socket)
    const isStale = handshake.context !== currentContext
    const isInvalid = clientCertificate === 'optional' && !socket.authorized
    if (hasCertificate && (isStale || isInvalid)) {
      const cause = isStale ? 'verified by previous authorities' : String(socket.authorizationError)
      socket.destroy()
      handler.onConnectionError('certificate', handshake.peer, cause)
      return
    }
    serve(socket, handshake.peer, hasCertificate)
  }

  /** Serves a connection from its first byte on. */
  function serve(socket: Socket, peer: string, hasCertificate: boolean): void {
    if (socket.destroyed) return
    const connection = new ServerConnection(socket, peer, connectionHandler)
    connections.set(connection, hasCertificate)
    connection.socket.once('close', () => connections.delete(connection))
    const intervalMs = Math.min(maxTimeoutCheckIntervalMs, Math.ceil(timeouts.headersTimeoutMs / 4))
    timeoutChecks ??= setInterval(checkTimeouts, intervalMs).unref()
  }

  function checkTimeouts(): void {
    // After a suspension of the process, unread bytes of clients are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of connections.keys()) ownedBy(connection, () => connection.checkTimeouts(now))()
    })
  }

  /** Frees a place for a new client, preferably one in a handshake. Returns whether it closed a connection. */
  function closeOldestIdle(): boolean {
    const [oldest] = handshakes
    if (oldest !== undefined) {
      const [ends, { socket }] = oldest
      handshakes.delete(ends)
      socket.destroy()
      return true
    }
    for (const connection of connections.keys()) if (connection.closeIfIdle()) return true
    return false
  }

  function acceptOrClose(socket: Socket): void {
    const peer = readPeerAddress(socket)
    const isProxy = isTrustedProxy(peer)
    const key = getAddressKey(peer)
    // Before a connection is closed for this one: an address at its limit must not shut others out.
    if (!isProxy && (connectionsByAddress.get(key) ?? 0) >= (maxConnectionsPerAddress ?? Infinity)) {
      socket.destroy()
      handler.onConnectionError('too_many_connections_of_client', peer)
      return
    }
    if (sockets.size >= maxConnections && !closeOldestIdle()) {
      socket.destroy()
      handler.onConnectionError('too_many_connections', peer)
      return
    }
    const ends = formatEnds(socket)
    sockets.add(socket)
    options.scheduler.onConnection()
    if (!isProxy) countConnection(socket, key)
    socket.once('close', () => {
      sockets.delete(socket)
      handshakes.delete(ends)
    })
    if (tlsServer === undefined) {
      serve(socket, peer, false)
      return
    }
    handshakes.set(ends, { socket, peer, context: currentContext })
    tlsServer.emit('connection', socket)
  }

  function countConnection(socket: Socket, key: string): void {
    connectionsByAddress.set(key, (connectionsByAddress.get(key) ?? 0) + 1)
    socket.once('close', () => {
      const left = (connectionsByAddress.get(key) ?? 1) - 1
      if (left > 0) connectionsByAddress.set(key, left)
      else connectionsByAddress.delete(key)
    })
  }

  return {
    server,
    /** Resolves with the port. */
    listen: (address: { readonly host: string; readonly port: number }) =>
      listenOn(server, { ...address, backlog }),
    /**
     * If authorities or revocation list change, connections with a client certificate end after their response: TLS
     * verifies only new ones.
     */
    setCertificates(context: SecureContextOptions): void {
      tlsServer?.setSecureContext(context)
      if (context.ca === currentContext?.ca && context.crl === currentContext?.crl) return
      currentContext = context
      for (const [connection, hasCertificate] of connections) if (hasCertificate) connection.revoke()
    },
    /** Makes the current or next response of each connection its last one. */
    drain(): void {
      connectionHandler.isDraining = true
      for (const connection of connections.keys()) connection.drain()
    },
    /** Accepts no new connections and closes idle ones. Resolves when all connections are closed. */
    stopAccepting(): Promise<void> {
      const closed = new Promise<void>((resolve) => {
        server.close(() => {
          clearInterval(timeoutChecks)
          resolve()
        })
      })
      for (const connection of connections.keys()) connection.closeIfIdle()
      return closed
    },
    connectionCount: (): number => sockets.size,
    isBusy: (): boolean => [...connections.keys()].some(({ isBusy }) => isBusy),
    destroyAll(): void {
      for (const connection of connections.keys()) connection.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Half-open, so that a client that ends in the middle of a request gets an error response. */
const tcpOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true }

/** Both ends: a client may use one port for connections to several addresses of the listener. */
function formatEnds({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`
}

/** Whether the peer has closed the connection early, which is no protocol error. */
function isDisconnect({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE'
}
