import type { Duplex } from 'node:stream'
import type { ConnectionAddresses } from '../lib/net/connection-addresses.ts'
import type { ErrorResponse } from '../http1/server/error-response.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'
import type { OutgoingResponse } from '../http1/server/outgoing-response.ts'
import type { RequestError, RequestErrorReason } from '../http1/server/request-error.ts'
import type { NodeResponse } from '../node-http/node-response.ts'

/** Why a connection was closed without a response to a request. */
export type ConnectionErrorReason =
  | RequestErrorReason
  | 'certificate'
  | 'http2_error'
  | 'proxy_protocol'
  | 'send_timeout'
  | 'tls_handshake'
  | 'too_many_connections'
  | 'too_many_connections_of_client'

/** Receives the requests of every server behind the listener, and what has closed connections. */
export interface ListenerHandler {
  readonly onRequest: (request: IncomingRequest, response: OutgoingResponse | NodeResponse) => void
  /** A connection was closed, or could not be accepted; `cause` is for logs. */
  readonly onConnectionError: (
    reason: ConnectionErrorReason,
    addresses: ConnectionAddresses | undefined,
    cause?: string,
  ) => void
  /** The response to bytes that are not a request. The connection is closed without a response if undefined. */
  readonly errorResponse: (error: RequestError) => ErrorResponse | undefined
  /** Refuses a request for a tunnel that the parser of node has read, on the connection that it leaves. */
  readonly refuseConnect: (socket: Duplex, addresses: ConnectionAddresses) => void
}
