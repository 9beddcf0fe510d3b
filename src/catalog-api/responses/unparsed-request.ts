import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { closeGracefully } from '../../lib/net/close-gracefully.ts'
import { invalidInput, type CatalogError } from '../catalog-error.ts'
import { requestIdHeader } from '../headers.ts'

/** Answers what the HTTP parser refused, where there is no request to answer, and closes the connection. */
export function respondToUnparsed(socket: Duplex, refusal: CatalogError): void {
  const requestId = randomUUID()
  const body = JSON.stringify(refusal.toResponse(requestId))
  closeGracefully(
    socket,
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `${requestIdHeader}: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
  )
}

/** What was wrong with something that is no request. */
type UnparsedKind = 'too large' | 'too slow' | 'malformed'

/** It as an error of the interface (400, 408 or 431). */
function unparsedRequestError(what: UnparsedKind, cause: Error): CatalogError {
  if (what === 'too large') return invalidInput('the request head is too large', { status: 431, cause })
  if (what === 'too slow') return invalidInput('request timeout', { status: 408, cause })
  return invalidInput('malformed HTTP/1.1 request', { cause })
}

const codes: Readonly<Record<string, UnparsedKind>> = {
  HPE_HEADER_OVERFLOW: 'too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'too slow',
}

/** An error of the HTTP parser of node as one of the interface; the error is its cause. */
export function toUnparsedRequestError(error: NodeJS.ErrnoException): CatalogError {
  return unparsedRequestError(codes[error.code ?? ''] ?? 'malformed', error)
}
