import { findHeader } from '../../lib/index.ts'
import {
  CatalogError,
  type ErrorName,
  isErrorResponse,
  lancedbServerHeader,
  parseErrorResponse,
  quoteForMessage,
  refusal,
} from '../../catalog-api/index.ts'
import { challenge } from '../../identity/index.ts'
import { AttemptFailed, type UpstreamResponse } from './upstream-attempt.ts'
import { isUnavailableStatus } from './upstream-health.ts'
import { ClientDisconnected } from '../downstream.ts'
import type { Upstream } from './upstream.ts'

const missingOperation = 'the upstream does not have this operation'

/** Headers of an error response that the gateway forwards with its own error. */
const forwardedErrorHeaders = ['retry-after', 'content-range', lancedbServerHeader]

/**
 * Converts an error response of the upstream, in any format (HTML, truncated, compressed, empty), to an error of
 * the interface. The code is preserved, and for client errors the first line of the message without paths, and the context;
 * everything else becomes the `cause`, for the log. If the upstream rejects the credential of the gateway, the error is 502; if it
 * rejects that of the caller, 401. `reads` is that of `parseErrorResponse`.
 */
export function createUpstreamError(
  { status, headers, body }: UpstreamResponse,
  upstream: Pick<Upstream, 'identity' | 'own'>,
  sent: readonly string[],
  reads: 'all' | 'code' = 'all',
): CatalogError {
  const own = [...sent, ...upstream.own.getHeaders()]
  const { kind, message, context, cause } = parseErrorResponse(status, body, own, reads)
  if (status === 407 || (status === 401 && upstream.identity !== 'original'))
    return refusal('upstream_credential_rejected', 'the upstream rejected the credential of the gateway', {
      cause,
    })
  if (status < 400)
    return refusal('upstream_redirect', 'the catalog responded with a redirect, which is not followed', {
      cause,
    })
  // With its usual status, not 501: a failure might be retried, and would count as one.
  if (kind === 'Unsupported' && status >= 500) return new CatalogError(kind, missingOperation, { cause })
  const retained = forwardedErrorHeaders.flatMap((name): [string, string][] => {
    const value = findHeader(headers, name)
    return value === undefined ? [] : [[name, value]]
  })
  return new CatalogError(kind, createErrorMessage(kind, status, message, getContentCoding(headers)), {
    status,
    headers: {
      ...Object.fromEntries(retained),
      ...(status === 401 && challenge),
    },
    ...(status < 500 && { context }),
    cause,
  })
}

function createErrorMessage(
  kind: ErrorName,
  status: number,
  sent: string | undefined,
  coding: string | undefined,
): string {
  if (status >= 500) return 'the upstream failed to process the request'
  if (sent !== undefined) return sent
  if (kind === 'Unsupported' && status === 406 && coding === undefined) return missingOperation
  const refused = `the upstream refused the request with status ${status}`
  return coding === undefined
    ? refused
    : `${refused}; its body has the content-encoding ${quoteForMessage(coding)}, expected none, as requested`
}

/** The content coding of a response, which was not requested; undefined if there is none. */
function getContentCoding(headers: readonly string[]): string | undefined {
  const coding = findHeader(headers, 'content-encoding')
  return coding === undefined || coding.toLowerCase() === 'identity' ? undefined : coding
}

/** Throws ServiceUnavailable (502) for a response that the gateway has to read, but that is compressed. */
export function assertNotCompressed(headers: readonly string[]): void {
  const coding = getContentCoding(headers)
  if (coding === undefined) return
  throw refusal(
    'upstream_response_invalid',
    `the response of the catalog has the content-encoding ${quoteForMessage(coding)}; expected none, as requested`,
  )
}

const failureMessages = {
  upstream_timeout: 'the catalog did not respond in time',
  upstream_connect_timeout: 'upstream connect timeout',
  shutting_down: 'the gateway is shutting down',
  upstream_request_invalid: 'the request could not be sent to the upstream',
  upstream_response_invalid: 'the catalog sent an invalid response',
  upstream_unreachable: 'the catalog could not be reached, or closed the connection',
} as const

/** Kinds of failure: of the client or the gateway, or the kind of the error that the client gets. */
type FailureKind = 'downstream' | keyof typeof failureMessages

/** Those of http1 and outbound. */
const failureByCode: ReadonlyMap<string, FailureKind> = new Map([
  ['REQUEST_TIMEOUT', 'upstream_timeout'],
  ['HEADERS_TIMEOUT', 'upstream_timeout'],
  ['BODY_TIMEOUT', 'upstream_timeout'],
  ['CONNECT_TIMEOUT', 'upstream_connect_timeout'],
  ['CLIENT_CLOSED', 'shutting_down'],
  ['BAD_REQUEST', 'upstream_request_invalid'],
  ['BAD_RESPONSE', 'upstream_response_invalid'],
])

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
  return failureByCode.get(getFailureReason(cause)) ?? 'upstream_unreachable'
}
