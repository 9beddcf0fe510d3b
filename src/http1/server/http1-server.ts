import { createServer, type Server, type Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls'
import { ConnectionSet, type ConnectionSetOptions, type Http1ServerHandler } from './connection-set.ts'

export interface Http1ServerOptions extends ConnectionSetOptions {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number | undefined
  /** Undefined for plain HTTP. */
  readonly tls: Http1ServerTls | undefined
}

interface Http1ServerTls {
  readonly clientCertificate: 'none' | 'optional' | 'required'
  readonly context: SecureContextOptions
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

/** Clients retry a dropped connection only after a second. */
const backlog = 4_096

export function createHttp1Server(options: Http1ServerOptions, handler: Http1ServerHandler): Http1Server {
  const { timeouts, maxConnections, maxConnectionsPerAddress, tls, others } = options
  /** TCP connections with and without TLS. */
  const sockets = new Set<Socket>()
  const connections = new ConnectionSet(options, handler)
  const connectionsByAddress = new Map<string, number>()
  /** Without a TLS session yet, by peer. */
  const handshakes = new Map<string, Socket>()
  let currentContext = tls?.context
  /** A certificate is verified by the context in force when TCP was accepted. */
  const contextByPeer = new Map<string, SecureContextOptions | undefined>()
  const tlsServer = tls && createTls(tls)
  const server: Server = tlsServer ?? createServer(tcpOptions, (socket) => connections.add(socket, false))
  server.prependListener('connection', acceptOrClose)
  // The system could not accept a connection: too many open files.
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (server.listening) handler.onConnectionError('too_many_connections', undefined, error.code)
  })

  function createTls({ clientCertificate, context }: Http1ServerTls): TlsServer {
    const secure = createTlsServer({
      ...tcpOptions,
      ALPNProtocols: others?.http2 === undefined ? ['http/1.1'] : ['h2', 'http/1.1'],
      handshakeTimeout: timeouts.headersTimeoutMs,
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
      connections.add(socket, hasCertificate)
    })
    secure.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
      // A client that aborts the handshake is not an error.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE')
        handler.onConnectionError('tls_handshake', socket.remoteAddress, error.code)
      socket.destroy()
    })
    return secure
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
    return connections.closeOldestIdle()
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
    options.scheduler.onConnection()
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
      connections.revokeCertificates()
    },
    drain: () => connections.drain(),
    stopAccepting() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => {
          connections.stopTimeoutChecks()
          resolve()
        })
      })
      connections.closeAllIdle()
      return closed
    },
    connectionCount: () => sockets.size,
    isBusy: () => connections.isBusy,
    destroyAll() {
      connections.destroyAll()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Half-open, so that a client that ends in the middle of a request gets an error response. */
const tcpOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true }

function formatPeer({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
