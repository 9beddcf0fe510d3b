import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { isErrorResponse } from '../../catalog-api/responses/read-error-response.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { ResponseTooLarge, AttemptFailed, type UpstreamResponse } from './upstream-attempt.ts'
import {
  RequestTimeout,
  TransportError,
  type TransportErrorCode,
} from '../../http1/client/transport-error.ts'

const failureMessages = {
  upstream_response_too_large: 'the response of the catalog is too large',
  upstream_timeout: 'the catalog did not respond in time',
  upstream_connect_timeout: 'upstream connect timeout',
  shutting_down: 'the gateway is shutting down',
  upstream_request_invalid: 'the request could not be sent to the upstream',
  upstream_response_invalid: 'the catalog sent an invalid response',
  upstream_unreachable: 'the catalog could not be reached, or closed the connection',
} as const

/** Kinds of failure: the client disconnected, or the kind of the error that the client gets. */
type FailureKind = 'downstream' | keyof typeof failureMessages

const failureByTransportCode: Readonly<Partial<Record<TransportErrorCode, FailureKind>>> = {
  HEADERS_TIMEOUT: 'upstream_timeout',
  BODY_TIMEOUT: 'upstream_timeout',
  CONNECT_TIMEOUT: 'upstream_connect_timeout',
  CLIENT_CLOSED: 'shutting_down',
  BAD_REQUEST: 'upstream_request_invalid',
  BAD_RESPONSE: 'upstream_response_invalid',
}

/** Whether the status means that a server, or one behind a proxy, cannot serve requests now. */
export function isUnavailableStatus(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

/**
 * Whether a response means that the upstream cannot serve requests now. An error with a code of the interface does not:
 * the catalog itself responded, and a caller may have provoked the error.
 */
export function isUnavailableResponse({ status, body }: UpstreamResponse): boolean {
  return isUnavailableStatus(status) && !isErrorResponse(body)
}

/** Whether the connection to the upstream failed, rather than the client or a timeout. */
export function isTransportFailure(cause: unknown): boolean {
  const failure = classifyFailure(cause)
  return (
    failure === 'upstream_unreachable' ||
    failure === 'upstream_connect_timeout' ||
    failure === 'upstream_response_invalid'
  )
}

/**
 * The error that a client gets for a failed attempt: 502, 503 or 504, or the error of its own body. ClientDisconnected
 * and other errors are returned unchanged.
 */
export function toDownstreamError(error: unknown): unknown {
  if (!(error instanceof AttemptFailed)) return error
  const { cause } = error
  const failure = classifyFailure(cause)
  if (failure === 'downstream') return cause
  const message = failureMessages[failure]
  // These texts are about the framing, and quote nothing of the response.
  const reason = failure === 'upstream_response_invalid' && cause instanceof Error ? `: ${cause.message}` : ''
  return refusal(failure, message + reason, { cause })
}

/** Why an attempt failed, in one word for the audit record: the code of a transport error, if there is one. */
export function getFailureReason(error: unknown): string {
  const cause = error instanceof AttemptFailed ? error.cause : error
  if (cause instanceof CatalogError) return cause.reason
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.name
  return 'broken off'
}

function classifyFailure(cause: unknown): FailureKind {
  if (cause instanceof ClientDisconnected || cause instanceof CatalogError) return 'downstream'
  if (cause instanceof ResponseTooLarge) return 'upstream_response_too_large'
  if (cause instanceof RequestTimeout) return 'upstream_timeout'
  return (
    (cause instanceof TransportError ? failureByTransportCode[cause.code] : undefined) ??
    'upstream_unreachable'
  )
}
