import { CatalogError, refusal } from '../catalog-api/catalog-error.ts'
import { gatewayHeaders, type ResponseContext } from './gateway-headers.ts'
import { scheduleAtTickEnd } from '../lib/async/schedule-at-tick-end.ts'
import type { OutgoingResponse } from '../http1/server/outgoing-response.ts'
import { BodyTimeout } from './body/body-timeout.ts'
import type { IncomingRequest } from '../http1/server/incoming-request.ts'

/** How much of a body that nobody wants is read before the connection is cut, and for how long. */
const maxDrainBytes = 16 * 1024 * 1024
const drainTimeoutMs = 10_000

/** Any error as one that can be answered: what is not an InterfaceError is our fault, and says nothing else. */
export function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  return refusal('internal_error', 'internal error; see the log of the gateway for this request id', {
    cause: error,
  })
}

/** Text of one byte a character, in UTF-8 as in Latin-1. */
const asciiText = /^[\0-\x7f]*$/

/**
 * An error as it is answered; the headers are names and values in turn. A body that is plain text is one, as it goes
 * into one write with the head.
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

/** What an error says itself, as an upstream may of its version, counts more. */
function mergeGatewayHeaders(context: ResponseContext, errorHeaders: CatalogError['headers']): string[] {
  const own = gatewayHeaders(context).filter(
    (_, index, all) => !Object.hasOwn(errorHeaders, all[index - (index % 2)] ?? ''),
  )
  return [...own, ...Object.entries(errorHeaders).flat()]
}

/**
 * Answers a refused request in the shape of the interface. Where an answer has already begun, the connection is
 * cut instead, so that half an answer never looks whole.
 */
export function sendErrorResponse(
  response: OutgoingResponse,
  error: CatalogError,
  context: ResponseContext,
): void {
  if (response.hasHead) {
    response.destroy()
    return
  }
  const { headers, body } = formatErrorResponse(error, context)
  if (error instanceof BodyTimeout) response.keepAlive = false
  response.writeHead(error.status, headers)
  scheduleAtTickEnd(() => response.end(body))
}

/**
 * Takes the rest of a body that nobody wants, within bounds: a client that is still sending reads its answer only
 * then, and the next request on its connection stands behind it.
 */
export function drainRequestBody(request: IncomingRequest): void {
  if (request.isComplete || request.isAborted) return
  let bytes = 0
  const timer = setTimeout(() => request.socket.destroy(), drainTimeoutMs).unref()
  const over = (): void => clearTimeout(timer)
  request.consume({
    onRequestData(chunk) {
      bytes += chunk.length
      if (bytes > maxDrainBytes) request.socket.destroy()
    },
    onRequestEnd: over,
    onRequestError: over,
  })
}
