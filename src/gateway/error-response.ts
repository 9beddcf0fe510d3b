import {
  CatalogError,
  lancedbServerHeader,
  lancedbServerVersion,
  policyRevisionHeader,
  refusal,
  requestIdHeader,
  UpstreamError,
} from '../catalog-api/index.ts'
import { formatBytes, removeHeaders, scheduleAtTickEnd } from '../lib/index.ts'
import type { DownstreamResponse } from './downstream.ts'
import { randomUUID } from 'node:crypto'
import type { ErrorResponse, RequestError, RequestErrorReason } from '../http1/index.ts'
import { maxHeadBytes } from './bounds.ts'

/**
 * Converts any error to one that can be sent. Anything but a CatalogError becomes an internal error without details.
 */
export function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  return refusal('internal_error', 'internal error; see the log of the gateway for this request id', {
    cause: error,
  })
}

/** Text of one byte a character, the same in UTF-8 and Latin-1: a string is written together with the head. */
const asciiText = /^[\0-\x7f]*$/

/**
 * Sends an error response in the format of the interface. If a response has already started, the connection is closed
 * instead, so that a partial response never looks complete.
 */
export function sendErrorResponse(
  response: DownstreamResponse,
  error: CatalogError,
  context: ResponseContext,
): void {
  if (response.hasHead) {
    response.destroy()
    return
  }
  const text = JSON.stringify(error.toResponse(context.requestId))
  const body = asciiText.test(text) ? text : Buffer.from(text)
  // Headers of the error, such as the version of an upstream, take precedence.
  const own = removeHeaders(gatewayHeaders(context), new Set(Object.keys(error.headers)))
  const headers = ['content-type', 'application/json', 'content-length', String(body.length), ...own]
  // The gateway reads no upload of an unauthenticated caller.
  response.abandonBody(context.isAuthenticated && error.reason !== 'body_timeout')
  // Bytes for a tunnel may follow.
  if (error.reason === 'connect_not_supported') response.keepAlive = false
  response.writeHead(error.status, [...headers, ...Object.entries(error.headers).flat()])
  scheduleAtTickEnd(response, () => response.end(body))
}

/** The request of a response, and the revision of the policies that decided it; undefined before a decision. */
export interface ResponseContext {
  readonly requestId: string
  readonly policyRevision: string | undefined
  /** Whether the client is a LanceDB remote client. */
  readonly isLancedb: boolean
  /** Whether the caller is known. */
  readonly isAuthenticated: boolean
}

/** Headers that the gateway adds to a response: names and values in turn. */
export function gatewayHeaders({
  requestId,
  policyRevision,
  isLancedb,
}: Omit<ResponseContext, 'isAuthenticated'>): readonly string[] {
  const own = [requestIdHeader, requestId]
  if (policyRevision !== undefined) own.push(policyRevisionHeader, policyRevision)
  if (isLancedb) own.push(lancedbServerHeader, lancedbServerVersion)
  return own
}

const messages: Readonly<Partial<Record<RequestErrorReason, string>>> = {
  headers_too_large: `the request line and headers exceed the limit of ${formatBytes(maxHeadBytes)}`,
  request_timeout: 'request timeout',
}

/** The response to bytes that are no request; undefined after an idle timeout: the client has sent nothing. */
export function createRequestErrorResponse(error: RequestError): ErrorResponse | undefined {
  const { reason } = error
  if (reason === 'idle_timeout') return undefined
  const requestId = randomUUID()
  const refused = refusal(reason, messages[reason] ?? 'malformed HTTP request', { cause: error })
  return {
    status: refused.status,
    headers: ['content-type', 'application/json', requestIdHeader, requestId],
    body: JSON.stringify(refused.toResponse(requestId)),
  }
}

/**
 * Describes the cause of an error for the log: the stack of an internal error, else the message. Messages about invalid
 * JSON are left out: they quote it, secrets included.
 */
export function describeCause({ kind, cause }: CatalogError): string | undefined {
  if (!(cause instanceof Error)) return undefined
  if (cause instanceof SyntaxError) return cause.name
  if (cause instanceof UpstreamError) return cause.message
  return kind === 'Internal' ? cause.stack : String(cause)
}
