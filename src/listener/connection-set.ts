import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ConnectionAddresses } from '../lib/net/connection-addresses.ts'
import type { ConnectionHandler } from '../http1/server/connection-handler.ts'
import type { ConnectionTimeouts } from '../http1/server/connection-state.ts'
import { LingerSlots } from '../http1/server/lingering-close.ts'
import type { RequestScheduler } from '../http1/server/request-queue.ts'
import type { ServedConnection } from '../http1/server/served-connection.ts'
import { ServerConnection } from '../http1/server/server-connection.ts'
import type { ListenerHandler } from './listener-handler.ts'
import type { OtherServers } from './other-servers.ts'
import { PrefaceReader } from './preface-reader.ts'

export interface ConnectionSetOptions {
  readonly maxHeadBytes: number
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
}

const maxTimeoutCheckIntervalMs = 1_000

/** The open connections of a listener. Each is served by the server that its protocol needs. */
export class ConnectionSet {
  readonly #others: OtherServers
  readonly #handler: Pick<ListenerHandler, 'onConnectionError'>
  readonly #connectionHandler: ConnectionHandler & { isDraining: boolean }
  readonly #connections = new Set<ServedConnection>()
  readonly #withCertificate = new Set<ServedConnection>()
  #timeoutChecks: NodeJS.Timeout | undefined

  constructor(options: ConnectionSetOptions, others: OtherServers, handler: ListenerHandler) {
    this.#others = others
    this.#handler = handler
    this.#connectionHandler = {
      maxHeadBytes: options.maxHeadBytes,
      timeouts: options.timeouts,
      scheduler: options.scheduler,
      lingerSlots: new LingerSlots(),
      isDraining: false,
      handsOver: others.http1 && others.handsOver,
      onRequest: handler.onRequest,
      onRequestError: ({ reason, message }, addresses) =>
        handler.onConnectionError(reason, addresses, message),
      errorResponse: handler.errorResponse,
      onSendTimeout: (addresses) => handler.onConnectionError('send_timeout', addresses),
      onClose: (connection) => {
        this.#connections.delete(connection)
        this.#withCertificate.delete(connection)
      },
      onHandOver: (connection, socket, addresses) => {
        if (others.http1 !== undefined)
          this.#replace(connection, others.http1.serve(socket, addresses, this.#connectionHandler))
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
    const { http2, h2c } = this.#others
    if (http2 === undefined) return this.#openHttp1(socket, addresses)
    const openHttp2 = (): ServedConnection => http2.serve(socket, addresses, this.#connectionHandler)
    if (socket instanceof TLSSocket)
      return socket.alpnProtocol === 'h2' ? openHttp2() : this.#openHttp1(socket, addresses)
    if (!h2c) return this.#openHttp1(socket, addresses)
    return new PrefaceReader(
      socket,
      this.#connectionHandler,
      this.#connectionHandler.timeouts.headersTimeoutMs,
      (reader, hasPreface) =>
        this.#replace(reader, hasPreface ? openHttp2() : this.#openHttp1(socket, addresses)),
      (reason) => this.#handler.onConnectionError(reason, addresses),
    )
  }

  #openHttp1(socket: Socket, addresses: ConnectionAddresses): ServedConnection {
    const { http1, handsOver } = this.#others
    return http1 !== undefined && handsOver === undefined
      ? http1.serve(socket, addresses, this.#connectionHandler)
      : new ServerConnection(socket, addresses, this.#connectionHandler)
  }

  #replace(before: ServedConnection, after: ServedConnection): void {
    this.#connections.delete(before)
    this.#connections.add(after)
    if (this.#withCertificate.delete(before)) this.#withCertificate.add(after)
  }

  #checkTimeouts(): void {
    // After a suspension of the process, unread bytes of clients are read first.
    setImmediate(() => {
      const now = performance.now()
      for (const connection of this.#connections) connection.checkTimeouts(now)
    })
  }
}
