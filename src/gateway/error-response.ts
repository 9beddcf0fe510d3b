import { CatalogError, refusal } from '../catalog-api/catalog-error.ts'
import { gatewayHeaders, type ResponseContext } from './gateway-headers.ts'
import { scheduleAtTickEnd } from '../lib/async/owned-tasks.ts'
import type { DownstreamResponse } from './downstream.ts'
import { removeHeaders } from '../lib/http/header-list.ts'

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
