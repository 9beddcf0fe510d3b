import type { Socket } from 'node:net'
import type { ConnectionAddresses } from '../lib/net/connection-addresses.ts'
import type { ConnectionHandler } from '../http1/server/connection-handler.ts'
import type { ConnectionTimeouts } from '../http1/server/connection-state.ts'
import { LingerSlots } from '../http1/server/lingering-close.ts'
import type { RequestScheduler } from '../http1/server/request-queue.ts'
import type { ServedConnection } from '../http1/server/served-connection.ts'
import { ServerConnection } from '../http1/server/server-connection.ts'
import type { ListenerHandler } from './listener-handler.ts'
import type { OtherServers } from './other-servers.ts'

export interface ConnectionSetOptions {
  readonly maxHeadBytes: number
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
}

const maxTimeoutCheckIntervalMs = 1_000

/** The open connections of a listener. Each is served by the server that its protocol needs. */
export class ConnectionSet {
  readonly #others: OtherServers
  readonly #connectionHandler: ConnectionHandler & { isDraining: boolean }
  readonly #connections = new Set<ServedConnection>()
  readonly #withCertificate = new Set<ServedConnection>()
  #timeoutChecks: NodeJS.Timeout | undefined

  constructor(options: ConnectionSetOptions, others: OtherServers, handler: ListenerHandler) {
    this.#others = others
    this.#connectionHandler = {
      maxHeadBytes: options.maxHeadBytes,
      timeouts: options.timeouts,
      scheduler: options.scheduler,
      lingerSlots: new LingerSlots(),
      isDraining: false,
      findServerByStart: others.findServerByStart,
      onRequest: handler.onRequest,
      onRequestError: ({ reason, message }, addresses) =>
        handler.onConnectionError(reason, addresses, message),
      errorResponse: handler.errorResponse,
      onSendTimeout: (addresses) => handler.onConnectionError('send_timeout', addresses),
      onClose: (connection) => {
        this.#connections.delete(connection)
        this.#withCertificate.delete(connection)
      },
      onHandOver: (before, after) => {
        this.#connections.delete(before)
        this.#connections.add(after)
        if (this.#withCertificate.delete(before)) this.#withCertificate.add(after)
      },
    }
  }

  get isBusy(): boolean {
    return [...this.#connections].some(({ isBusy }) => isBusy)
  }

  /** Serves a connection from its first byte on. `hasCertificate`: whether TLS has verified one of the client. */
  add(socket: Socket, addresses: ConnectionAddresses, hasCertificate: boolean): void {
    if (socket.destroyed) return
    const connection = this.#open(socket, addresses)
    this.#connections.add(connection)
    if (hasCertificate) this.#withCertificate.add(connection)
    const { headersTimeoutMs } = this.#connectionHandler.timeouts
    const intervalMs = Math.min(maxTimeoutCheckIntervalMs, Math.ceil(headersTimeoutMs / 4))
    this.#timeoutChecks ??= setInterval(() => this.#checkTimeouts(), intervalMs).unref()
  }

  /** Makes the current or next response of each connection its last one. */
  drain(): void {
    this.#connectionHandler.isDraining = true
    for (const connection of this.#connections) connection.drain()
  }

  /** Ends connections with a client certificate after their response. */
  revokeCertificates(): void {
    for (const connection of this.#withCertificate) connection.revoke()
  }

  /** Returns whether there was one. */
  closeOldestIdle(): boolean {
    for (const connection of this.#connections) if (connection.closeIfIdle()) return true
    return false
  }

  closeAllIdle(): void {
    for (const connection of this.#connections) connection.closeIfIdle()
  }

  destroyAll(): void {
    for (const connection of this.#connections) connection.destroy()
  }

  /** To be called when no connection is left, and none will be added. */
  stopTimeoutChecks(): void {
    clearInterval(this.#timeoutChecks)
  }

  #open(socket: Socket, addresses: ConnectionAddresses): ServedConnection {
    const server = this.#others.findAcceptedServer(socket)
    return server === 'own'
      ? new ServerConnection(socket, addresses, this.#connectionHandler)
      : server.serve(socket, addresses, this.#connectionHandler)
  }

  #checkTimeouts(): void {
    // After a suspension of the process, unread bytes of clients are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of this.#connections) connection.checkTimeouts(now)
    })
  }
}
