import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ErrorResponse } from './error-response.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { LingerSlots } from './lingering-close.ts'
import type { OutgoingResponse } from './outgoing-response.ts'
import { PrefaceReader } from './preface-reader.ts'
import type { RequestError, RequestErrorReason } from './request-error.ts'
import type { RequestScheduler } from './request-queue.ts'
import type { ConnectionServer, ServedConnection } from './served-connection.ts'
import type { ConnectionHandler } from './connection-handler.ts'
import type { ConnectionTimeouts } from './connection-state.ts'
import { ServerConnection } from './server-connection.ts'

/** Why a connection was closed without a response to a request. */
export type ConnectionErrorReason =
  | RequestErrorReason
  | 'certificate'
  | 'http2_error'
  | 'send_timeout'
  | 'tls_handshake'
  | 'too_many_connections'
  | 'too_many_connections_of_client'

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

export interface ConnectionSetOptions {
  readonly maxHeadBytes: number
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
  /** Undefined: HTTP/1.1 alone, by the parser here. */
  readonly others?: OtherServers
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

const maxTimeoutCheckIntervalMs = 1_000

/** The open connections of a listener. Each is served by the server that its protocol needs. */
export class ConnectionSet {
  readonly #others: OtherServers | undefined
  readonly #handler: Http1ServerHandler
  readonly #connectionHandler: ConnectionHandler & { isDraining: boolean }
  readonly #connections = new Set<ServedConnection>()
  readonly #withCertificate = new Set<ServedConnection>()
  #timeoutChecks: NodeJS.Timeout | undefined

  constructor({ others, ...options }: ConnectionSetOptions, handler: Http1ServerHandler) {
    this.#others = others
    this.#handler = handler
    this.#connectionHandler = {
      maxHeadBytes: options.maxHeadBytes,
      timeouts: options.timeouts,
      scheduler: options.scheduler,
      lingerSlots: new LingerSlots(),
      isDraining: false,
      handsOver: others?.http1 && others.handsOver,
      onRequest: handler.onRequest,
      onRequestError: ({ reason, message }, remoteAddress) =>
        handler.onConnectionError(reason, remoteAddress, message),
      errorResponse: handler.errorResponse,
      onSendTimeout: (remoteAddress) => handler.onConnectionError('send_timeout', remoteAddress),
      onClose: (connection) => {
        this.#connections.delete(connection)
        this.#withCertificate.delete(connection)
      },
      onHandOver: (connection, socket) => {
        if (others?.http1 !== undefined)
          this.#replace(connection, others.http1.serve(socket, this.#connectionHandler))
      },
    }
  }

  get isBusy(): boolean {
    return [...this.#connections].some(({ isBusy }) => isBusy)
  }

  /** Serves a connection from its first byte on. `hasCertificate`: whether TLS has verified one of the client. */
  add(socket: Socket, hasCertificate: boolean): void {
    if (socket.destroyed) return
    const connection = this.#open(socket)
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

  #open(socket: Socket): ServedConnection {
    const http2 = this.#others?.http2
    if (http2 === undefined) return this.#openHttp1(socket)
    const openHttp2 = (): ServedConnection => http2.serve(socket, this.#connectionHandler)
    if (socket instanceof TLSSocket)
      return socket.alpnProtocol === 'h2' ? openHttp2() : this.#openHttp1(socket)
    if (this.#others?.h2c !== true) return this.#openHttp1(socket)
    return new PrefaceReader(
      socket,
      this.#connectionHandler,
      this.#connectionHandler.timeouts.headersTimeoutMs,
      (reader, hasPreface) => this.#replace(reader, hasPreface ? openHttp2() : this.#openHttp1(socket)),
      (reason) => this.#handler.onConnectionError(reason, socket.remoteAddress),
    )
  }

  #openHttp1(socket: Socket): ServedConnection {
    const { http1, handsOver } = this.#others ?? {}
    return http1 !== undefined && handsOver === undefined
      ? http1.serve(socket, this.#connectionHandler)
      : new ServerConnection(socket, this.#connectionHandler)
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
