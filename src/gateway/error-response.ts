import { CatalogError, refusal } from '../catalog-api/catalog-error.ts'
import { scheduleAtTickEnd } from '../lib/async/owned-tasks.ts'
import type { DownstreamResponse, ReceivedHead } from './downstream.ts'
import { removeHeaders } from '../lib/http/header-list.ts'
import {
  lancedbServerHeader,
  lancedbServerVersion,
  policyRevisionHeader,
  requestIdHeader,
} from '../catalog-api/headers.ts'
import { randomUUID } from 'node:crypto'
import { formatBytes } from '../lib/format-bytes.ts'
import type { ErrorResponse, RequestError, RequestErrorReason } from '../http1/server/request-error.ts'
import { maxHeadBytes } from './bounds.ts'
import { UpstreamError } from '../catalog-api/responses/redact-error-text.ts'

/**
 * Converts any error to one that can be sent. Anything but a CatalogError becomes an internal error without details.
 */
export function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  return refusal('internal_error', 'internal error; see the log of the gateway for this request id', {
    cause: error,
  })
}

/** Nobody without a credential may make the gateway read an upload. */
function isUnauthenticated({ kind, reason }: CatalogError): boolean {
  return kind === 'Unauthenticated' || reason === 'too_many_failed_authentications'
}

/** Text of one byte a character, the same in UTF-8 and Latin-1. */
const asciiText = /^[\0-\x7f]*$/

/**
 * Formats an error response; the headers are names and values in turn. An ASCII body is a string, because it is written
 * together with the head.
 */
export function formatErrorResponse(error: CatalogError, context: ResponseContext) {
  const text = JSON.stringify(error.toResponse(context.requestId))
  const body = asciiText.test(text) ? text : Buffer.from(text)
  const headers = [
    'content-type',
    'application/json',
    'content-length',
    String(body.length),
    ...mergeGatewayHeaders(context, error.headers),
  ]
  return { headers, body }
}

/** Headers of the error, such as the version of an upstream, take precedence. */
function mergeGatewayHeaders(context: ResponseContext, errorHeaders: CatalogError['headers']): string[] {
  const own = removeHeaders(gatewayHeaders(context), new Set(Object.keys(errorHeaders)))
  return [...own, ...Object.entries(errorHeaders).flat()]
}

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
  const { headers, body } = formatErrorResponse(error, context)
  response.abandonBody(!isUnauthenticated(error))
  // The rest of the body may follow.
  if (error.reason === 'body_timeout') response.keepAlive = false
  response.writeHead(error.status, headers)
  scheduleAtTickEnd(response, () => response.end(body))
}

interface AllowedRequest {
  readonly head: Pick<ReceivedHead, 'requestId' | 'isLancedb'>
  readonly allowedBy: { readonly revision: string }
}

/** The request of a response, and the revision of the policies that decided it; undefined before a decision. */
export interface ResponseContext {
  readonly requestId: string
  readonly policyRevision: string | undefined
  /** Whether the client is a LanceDB remote client. */
  readonly isLancedb: boolean
}

/** The context of the response to a request that policies have allowed. */
export function createResponseContext(request: AllowedRequest): ResponseContext {
  const { requestId, isLancedb } = request.head
  return { requestId, policyRevision: request.allowedBy.revision, isLancedb }
}

/** Headers that the gateway adds to a response: names and values in turn. */
export function gatewayHeaders({ requestId, policyRevision, isLancedb }: ResponseContext): readonly string[] {
  const own = [requestIdHeader, requestId]
  if (policyRevision !== undefined) own.push(policyRevisionHeader, policyRevision)
  if (isLancedb) own.push(lancedbServerHeader, lancedbServerVersion)
  return own
}

const malformed = 'malformed HTTP request'

const messages: Readonly<Record<Exclude<RequestErrorReason, 'idle_timeout' | 'headers_too_large'>, string>> =
  {
    incomplete_request: malformed,
    malformed_request: malformed,
    request_timeout: 'request timeout',
    tls_on_plain_port: malformed,
  }

/** The response to bytes that are no request; undefined after an idle timeout: the client has sent nothing. */
export function createRequestErrorResponse(error: RequestError): ErrorResponse | undefined {
  const { reason } = error
  if (reason === 'idle_timeout') return undefined
  const requestId = randomUUID()
  const message =
    reason === 'headers_too_large'
      ? `the request line and headers exceed the limit of ${formatBytes(maxHeadBytes)}`
      : messages[reason]
  const refused = refusal(reason, message, { cause: error })
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
