import { CatalogError, refusal } from '../../catalog-api/catalog-error.ts'
import { isErrorResponse } from '../../catalog-api/responses/read-error-response.ts'
import { ClientDisconnected } from '../client-disconnected.ts'
import { ResponseTooLarge, AttemptFailed, type UpstreamResponse } from './upstream-attempt.ts'
import {
  RequestTimeout,
  TransportError,
  type TransportErrorCode,
} from '../../http1/client/transport-error.ts'

/** Why an attempt failed: the connection to the client, or the refusal that the client gets. */
type FailureKind =
  | 'downstream'
  | 'upstream_response_too_large'
  | 'upstream_timeout'
  | 'upstream_connect_timeout'
  | 'shutting_down'
  | 'upstream_request_invalid'
  | 'upstream_unreachable'

const failureMessages: Readonly<Record<Exclude<FailureKind, 'downstream'>, string>> = {
  upstream_response_too_large: 'the response of the catalog is too large',
  upstream_timeout: 'the catalog did not respond in time',
  upstream_connect_timeout: 'upstream connect timeout',
  shutting_down: 'the gateway is shutting down',
  upstream_request_invalid: 'the request could not be sent to the upstream',
  upstream_unreachable: 'the catalog could not be reached, or closed the connection',
}

const failureByTransportCode: Readonly<Partial<Record<TransportErrorCode, FailureKind>>> = {
  HEADERS_TIMEOUT: 'upstream_timeout',
  BODY_TIMEOUT: 'upstream_timeout',
  CONNECT_TIMEOUT: 'upstream_connect_timeout',
  CLIENT_CLOSED: 'shutting_down',
  BAD_REQUEST: 'upstream_request_invalid',
}

/** Whether that status says that a server, or the server behind a proxy, cannot serve requests now. */
export function isUnavailableStatus(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

/**
 * Whether a response says that the upstream cannot serve requests now. An error of the catalog itself, with a code of
 * the interface, does not: the catalog is there, and a caller may have provoked it.
 */
export function isUnavailableResponse({ status, body }: UpstreamResponse): boolean {
  return isUnavailableStatus(status) && !isErrorResponse(body)
}

/** Whether it was the connection to the upstream that failed: not the client, nor the patience of the gateway. */
export function isTransportFailure(cause: unknown): boolean {
  const failure = classifyFailure(cause)
  return failure === 'upstream_unreachable' || failure === 'upstream_connect_timeout'
}

/**
 * What a client is answered for a failed exchange: 502, 503 or 504, or what was found wrong with the body that it was
 * sending. ClientDisconnected stays as it is, and so does what is no failed exchange.
 */
export function toDownstreamError(error: unknown): unknown {
  if (!(error instanceof AttemptFailed)) return error
  const { cause } = error
  const failure = classifyFailure(cause)
  return failure === 'downstream' ? cause : refusal(failure, failureMessages[failure], { cause })
}

/** Why an exchange failed, in one word for the audit record: the code of a transport error, where there is one. */
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
