import { createServer, type Server, type Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls'
import type { ClientAnswer } from './client-answer.ts'
import { ClientConnection, type ConnectionBounds } from './client-connection.ts'
import type { ClientRequest } from './client-request.ts'
import type { LimitSettings, TimeoutSettings, TlsSettings } from './edge-settings.ts'
import type { UnparsedReason } from './no-request.ts'
import type { Line } from './turns.ts'

/** Why a connection was closed without an answer to a request. */
export type TurnedAwayReason =
  | UnparsedReason
  | 'answer_not_read'
  | 'certificate'
  | 'too_many_connections'
  | 'too_many_connections_of_client'

/** What a listener is made of. */
export interface ListenerOptions {
  readonly limits: Pick<LimitSettings, 'maxHeaderBytes' | 'maxConnections' | 'maxConnectionsPerAddress'>
  readonly timeouts: TimeoutSettings
  readonly line: Line
  /** Undefined for plain HTTP. */
  readonly tls: { readonly settings: TlsSettings; readonly context: SecureContextOptions } | undefined
}

/** Who is told what comes to a listener. */
export interface ListenerEvents {
  readonly request: (request: ClientRequest, answer: ClientAnswer) => void
  /** What came was no request, or its connection was closed without an answer; the cause says more, where it is known. */
  readonly turnedAway: (reason: TurnedAwayReason, client: string | undefined, cause?: string) => void
}

/** An HTTP/1.1 server, and its connections. */
export interface Listener {
  /** The server beneath. */
  readonly server: Server
  /**
   * Connections that begin from now on use these certificates. If the authorities or the revocation list of clients
   * are others than before, connections that showed a certificate are closed, each behind the response under way: TLS
   * verifies a certificate only when a connection begins. Only for a listener with TLS.
   */
  setCertificates(context: SecureContextOptions): void
  /** Resolves with the port when connections are taken. */
  listen(where: { readonly host: string; readonly port: number }): Promise<number>
  readonly isListening: boolean
  /** From now on each connection is closed behind the answer that is under way on it, or the next one. */
  closeWhenAnswered(): void
  /** Takes no new connections, and closes those without a request under way. Resolves when no connection is left. */
  stopAccepting(): Promise<void>
  /** How many connections there are. */
  open(): number
  /** Whether any request is under way. */
  isBusy(): boolean
  destroyAll(): void
}

/** How often connections are looked at that wait for too long. */
const mostOftenMs = 1_000
/**
 * How many connections may wait to be taken, as far as the system lets them: node takes one a turn, and what finds no
 * room comes again after a second.
 */
const backlog = 4_096

/** The HTTP server of the gateway, with or without TLS, before it listens. */
export function createListener(options: ListenerOptions, events: ListenerEvents): Listener {
  const { limits, timeouts, line, tls } = options
  const { headersTimeoutMs, keepAliveTimeoutMs, sendTimeoutMs, maxConnectionAgeMs } = timeouts
  const { maxHeaderBytes } = limits
  const bounds: ConnectionBounds = {
    headerBytes: maxHeaderBytes,
    headersMs: headersTimeoutMs,
    keepAliveMs: keepAliveTimeoutMs,
    unreadMs: sendTimeoutMs,
    maxConnectionAgeMs,
  }
  // With TLS these are the connections beneath it, also those that have not agreed on it yet.
  const sockets = new Set<Socket>()
  const connections = new Set<ClientConnection>()
  const connectionsOf = new Map<string, number>()
  /** By peer, connections on which TLS is not agreed on yet. */
  const handshakes = new Map<string, Socket>()
  /** Those whose client showed a certificate. */
  const certified = new Set<ClientConnection>()
  let trust = tls?.context
  /** By peer, what its certificate is verified by: TLS is agreed on later than a connection is accepted. */
  const trustOf = new Map<string, SecureContextOptions | undefined>()
  let looking: NodeJS.Timeout | undefined
  const owner = {
    bounds,
    line,
    isClosing: false,
    request: events.request,
    refused: ({ reason, message }: { reason: UnparsedReason; message: string }, client: string) =>
      events.turnedAway(reason, client, message),
    unread: (client: string) => events.turnedAway('answer_not_read', client),
    closed(connection: ClientConnection) {
      connections.delete(connection)
      certified.delete(connection)
    },
  }
  const server = tls === undefined ? createServer(tcpOptions, serve) : createTls(tls.settings, tls.context)
  server.prependListener('connection', count)
  // A connection that the system could not give: there are too many of them, or of files.
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (server.listening) events.turnedAway('too_many_connections', undefined, error.code)
  })

  function createTls(settings: TlsSettings, context: SecureContextOptions): Server {
    const secure = createTlsServer({ ...tcpOptions, ...tlsOptions(settings, timeouts), ...context })
    return secure
      .on('secureConnection', (socket: TLSSocket) => {
        handshakes.delete(peerOf(socket))
        const isCertified = socket.getPeerX509Certificate() !== undefined
        const isStale = trustOf.get(peerOf(socket)) !== trust
        if (isCertified && (isStale || !isTrusted(socket, settings))) {
          const cause = isStale ? 'verified by authorities of before' : String(socket.authorizationError)
          events.turnedAway('certificate', socket.remoteAddress, cause)
          socket.destroy()
          return
        }
        const connection = serve(socket)
        if (isCertified && connection !== undefined) certified.add(connection)
      })
      .on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
        // What the client broke off is no fault.
        if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE')
          events.turnedAway('tls_handshake', socket.remoteAddress, error.code)
        socket.destroy()
      })
  }

  function serve(socket: Socket): ClientConnection | undefined {
    if (socket.destroyed) return undefined
    const connection = new ClientConnection(socket, owner)
    connections.add(connection)
    looking ??= setInterval(look, Math.min(mostOftenMs, Math.ceil(headersTimeoutMs / 4))).unref()
    return connection
  }

  function look(): void {
    // After a pause of this process the bytes of clients may lie there unread: they are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of connections) connection.checkPatience(now)
    })
  }

  /**
   * Closes the oldest connection without a request, one that still agrees on TLS before others, so that idle
   * connections keep nobody out. Returns whether there was one.
   */
  function makeRoom(): boolean {
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

  function count(socket: Socket): void {
    const client = socket.remoteAddress ?? ''
    if (sockets.size >= limits.maxConnections && !makeRoom()) {
      socket.destroy()
      events.turnedAway('too_many_connections', client)
      return
    }
    const others = connectionsOf.get(client) ?? 0
    if (limits.maxConnectionsPerAddress !== undefined && others >= limits.maxConnectionsPerAddress) {
      socket.destroy()
      events.turnedAway('too_many_connections_of_client', client)
      return
    }
    const peer = peerOf(socket)
    sockets.add(socket)
    connectionsOf.set(client, others + 1)
    trustOf.set(peer, trust)
    if (tls !== undefined) handshakes.set(peer, socket)
    socket.once('close', () => {
      sockets.delete(socket)
      trustOf.delete(peer)
      handshakes.delete(peer)
      const left = (connectionsOf.get(client) ?? 1) - 1
      if (left > 0) connectionsOf.set(client, left)
      else connectionsOf.delete(client)
    })
  }

  return {
    server,
    setCertificates(context) {
      ;(server as TlsServer).setSecureContext(context)
      if (context.ca === trust?.ca && context.crl === trust?.crl) return
      trust = context
      for (const connection of certified) connection.distrust()
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
    get isListening() {
      return server.listening
    },
    closeWhenAnswered() {
      owner.isClosing = true
      for (const connection of connections) connection.closeWhenAnswered()
    },
    stopAccepting() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => {
          clearInterval(looking)
          resolve()
        })
      })
      for (const connection of connections) connection.closeIfIdle()
      return closed
    },
    open: () => sockets.size,
    isBusy: () => [...connections].some(({ isBusy }) => isBusy),
    destroyAll() {
      for (const connection of connections) connection.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A client that ends in the middle of a request is still told so. */
const tcpOptions = { allowHalfOpen: true, noDelay: true, keepAlive: true }

function tlsOptions({ clientAuth }: TlsSettings, timeouts: TimeoutSettings) {
  return {
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: timeouts.headersTimeoutMs,
    requestCert: clientAuth !== 'none',
    // Where a certificate is optional, node would let a bad one pass: it is refused above.
    rejectUnauthorized: clientAuth === 'required',
  }
}

/** Whether the certificate that was shown is good. */
function isTrusted(socket: TLSSocket, { clientAuth }: TlsSettings): boolean {
  return clientAuth !== 'optional' || socket.authorized
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
