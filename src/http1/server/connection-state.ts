import type { ErrorResponse, RequestError, RequestErrorReason } from './request-error.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { OutgoingResponse } from './outgoing-response.ts'
import type { RequestScheduler } from './request-queue.ts'

/** In milliseconds. */
export interface ConnectionTimeouts {
  /** From the start of a connection or of a request to the end of the head. */
  readonly headersTimeoutMs: number
  /** Between a response and the next request. */
  readonly keepAliveTimeoutMs: number
  /** How long a client may read nothing of a response. */
  readonly sendTimeoutMs: number
  /** The next response on a connection of this age is its last one. */
  readonly maxConnectionAgeMs: number
}

/**
 * Why a connection ends other than by a response: its bytes are not a request, its client reads nothing of its response, or
 * the program has a fault.
 */
export type ConnectionFailure = RequestErrorReason | 'send_timeout' | 'internal_error'

/** Options and callbacks of the downstream connections of a listener. */
export interface ConnectionHandler {
  readonly maxHeadBytes: number
  readonly timeouts: ConnectionTimeouts
  readonly scheduler: RequestScheduler
  /** Whether every response is the last one of its connection. */
  readonly isDraining: boolean
  readonly onRequest: (request: IncomingRequest, response: OutgoingResponse) => void
  /** The connection is closed; `cause` is for logs. */
  readonly onConnectionError: (reason: ConnectionFailure, peer: string, cause?: string) => void
  /** The response to bytes that are not a request. The connection is closed without a response if undefined. */
  readonly errorResponse: (error: RequestError) => ErrorResponse | undefined
}

/** Times are those of performance.now(). */
export type ConnectionState =
  | StateBeforeRequest
  /** Bytes of a request have been received; the scheduler has not started it. */
  | { readonly kind: 'queued'; readonly since: number; readonly before: StateBeforeRequest }
  | { readonly kind: 'readingHead'; readonly since: number; readonly before: StateBeforeRequest }
  | { readonly kind: 'serving'; readonly request: IncomingRequest; readonly response: OutgoingResponse }
  /** The response is complete, the body of the request is not: the rest of it is read and discarded. */
  | { readonly kind: 'drainingBody'; readonly request: IncomingRequest; readonly keepAlive: boolean }
  /** The rest of the request is malformed; its response had started, and is the last one. Input is discarded. */
  | { readonly kind: 'finishing'; readonly response: OutgoingResponse }
  /** Closed, or about to be when the last bytes have been written. Input is discarded. */
  | { readonly kind: 'closing' }

/** Nothing but empty lines (RFC 9112, section 2.2) has been received: since TCP was accepted, or since the last response. */
export interface StateBeforeRequest {
  readonly kind: 'opened' | 'idle'
  readonly since: number
}
