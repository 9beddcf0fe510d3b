import type { Socket } from 'node:net'
import { ownedBy } from '../lib/index.ts'
import {
  type ConnectionFailure,
  type ConnectionHandler,
  LingerSlots,
  ServerConnection,
} from '../http1/index.ts'

/** Why a connection was closed without a response to a request. */
export type ConnectionErrorReason =
  | ConnectionFailure
  | 'certificate'
  | 'tls_handshake'
  | 'too_many_connections'
  | 'too_many_connections_of_client'

/** Receives the requests of a listener, and what has closed connections. */
export interface ListenerHandler extends Pick<ConnectionHandler, 'onRequest' | 'errorResponse'> {
  /** A connection was closed, or could not be accepted; `cause` is for logs. */
  readonly onConnectionError: (
    reason: ConnectionErrorReason,
    peer: string | undefined,
    cause?: string,
  ) => void
}

export type ConnectionSetOptions = Pick<ConnectionHandler, 'maxHeadBytes' | 'timeouts' | 'scheduler'>

const maxTimeoutCheckIntervalMs = 1_000

/** The open connections of a listener. */
export class ConnectionSet {
  readonly #handler: ConnectionHandler & { isDraining: boolean }
  /** With whether TLS has verified a certificate of the client. */
  readonly #connections = new Map<ServerConnection, boolean>()
  #timeoutChecks: NodeJS.Timeout | undefined

  constructor(options: ConnectionSetOptions, handler: ListenerHandler) {
    this.#handler = { ...options, ...handler, lingerSlots: new LingerSlots(), isDraining: false }
  }

  get isBusy(): boolean {
    return [...this.#connections.keys()].some(({ isBusy }) => isBusy)
  }

  /** Serves a connection from its first byte on. */
  add(socket: Socket, peer: string, hasCertificate: boolean): void {
    if (socket.destroyed) return
    const connection = new ServerConnection(socket, peer, this.#handler)
    this.#connections.set(connection, hasCertificate)
    connection.socket.once('close', () => this.#connections.delete(connection))
    const { headersTimeoutMs } = this.#handler.timeouts
    const intervalMs = Math.min(maxTimeoutCheckIntervalMs, Math.ceil(headersTimeoutMs / 4))
    this.#timeoutChecks ??= setInterval(() => this.#checkTimeouts(), intervalMs).unref()
  }

  /** Makes the current or next response of each connection its last one. */
  drain(): void {
    this.#handler.isDraining = true
    for (const connection of this.#connections.keys()) connection.drain()
  }

  /** Ends connections with a client certificate after their response. */
  revokeCertificates(): void {
    for (const [connection, hasCertificate] of this.#connections) if (hasCertificate) connection.revoke()
  }

  /** Returns whether there was one. */
  closeOldestIdle(): boolean {
    for (const connection of this.#connections.keys()) if (connection.closeIfIdle()) return true
    return false
  }

  closeAllIdle(): void {
    for (const connection of this.#connections.keys()) connection.closeIfIdle()
  }

  destroyAll(): void {
    for (const connection of this.#connections.keys()) connection.destroy()
  }

  /** To be called when no connection is left, and none will be added. */
  stopTimeoutChecks(): void {
    clearInterval(this.#timeoutChecks)
  }

  #checkTimeouts(): void {
    // After a suspension of the process, unread bytes of clients are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of this.#connections.keys())
        ownedBy(connection, () => connection.checkTimeouts(now))()
    })
  }
}
