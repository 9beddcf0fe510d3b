import type { ConnectionAddresses } from '../../lib/net/connection-addresses.ts'
import type { ConnectionTimeouts } from './connection-state.ts'
import type { ErrorResponse } from './error-response.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { LingerSlots } from './lingering-close.ts'
import type { OutgoingResponse } from './outgoing-response.ts'
import type { RequestError } from './request-error.ts'
import type { RequestScheduler } from './request-queue.ts'
import type { ConnectionOwner, ConnectionServer, ServedConnection } from './served-connection.ts'

/** Options and callbacks of the downstream connections of a listener. */
export interface ConnectionHandler extends ConnectionOwner {
  readonly maxHeadBytes: number
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
  readonly lingerSlots: LingerSlots
  /**
   * The server of a connection that begins with these bytes: `own` for HTTP/1.1 by this parser, undefined if they are too
   * few to tell. Without this method, all connections are of HTTP/1.1.
   */
  readonly findServerByStart: ((start: Buffer) => ConnectionServer | 'own' | undefined) | undefined
  onRequest(request: IncomingRequest, response: OutgoingResponse): void
  onRequestError(error: RequestError, addresses: ConnectionAddresses): void
  /** The connection is closed without a response if undefined. */
  errorResponse(error: RequestError): ErrorResponse | undefined
  /** The client reads nothing of its response. */
  onSendTimeout(addresses: ConnectionAddresses): void
  /** Another server has taken over a connection. */
  onHandOver(before: ServedConnection, after: ServedConnection): void
}
