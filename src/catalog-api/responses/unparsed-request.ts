import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { closeGracefully } from '../../lib/net/close-gracefully.ts'
import { invalidInput, type CatalogError } from '../catalog-error.ts'
import { requestIdHeader } from '../headers.ts'

/** Responds to input that the HTTP parser refused, and closes the connection. */
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

type UnparsedKind = 'too large' | 'too slow' | 'malformed'

function unparsedRequestError(kind: UnparsedKind, cause: Error): CatalogError {
  if (kind === 'too large') return invalidInput('the request head is too large', { status: 431, cause })
  if (kind === 'too slow') return invalidInput('request timeout', { status: 408, cause })
  return invalidInput('malformed HTTP request', { cause })
}

const codes: Readonly<Record<string, UnparsedKind>> = {
  HPE_HEADER_OVERFLOW: 'too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'too slow',
}

export function toUnparsedRequestError(error: NodeJS.ErrnoException): CatalogError {
  return unparsedRequestError(codes[error.code ?? ''] ?? 'malformed', error)
}
