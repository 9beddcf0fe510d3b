import type { Socket } from 'node:net'
import type { ConnectionAddresses } from '../../lib/net/connection-addresses.ts'
import type { ConnectionTimeouts } from './connection-state.ts'
import type { ErrorResponse } from './error-response.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { LingerSlots } from './lingering-close.ts'
import type { OutgoingResponse } from './outgoing-response.ts'
import type { RequestError } from './request-error.ts'
import type { RequestHead } from './request-head.ts'
import type { RequestScheduler } from './request-queue.ts'
import type { ConnectionOwner, ServedConnection } from './served-connection.ts'

/** Options and callbacks of the downstream connections of a listener. */
export interface ConnectionHandler extends ConnectionOwner {
  readonly maxHeadBytes: number
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
  readonly lingerSlots: LingerSlots
  /** Whether another server takes over a connection with this request. */
  readonly handsOver: ((head: RequestHead) => boolean) | undefined
  onRequest(request: IncomingRequest, response: OutgoingResponse): void
  onRequestError(error: RequestError, addresses: ConnectionAddresses): void
  /** The connection is closed without a response if undefined. */
  errorResponse(error: RequestError): ErrorResponse | undefined
  /** The client reads nothing of its response. */
  onSendTimeout(addresses: ConnectionAddresses): void
  /** The connection is not used any more: another server gets the socket, paused, with all received bytes. */
  onHandOver(connection: ServedConnection, socket: Socket, addresses: ConnectionAddresses): void
}
