import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { closeGracefully, formatBytes } from '../lib/index.ts'
import { invalidInput, type CatalogError } from './catalog-error.ts'
import { requestIdHeader } from './headers.ts'

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

/** Converts an error of the parser of a server that reads heads of up to `maxHeadBytes`. */
export function toUnparsedRequestError(error: NodeJS.ErrnoException, maxHeadBytes: number): CatalogError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    const message = `the request line and headers exceed the limit of ${formatBytes(maxHeadBytes)} of the catalog`
    return invalidInput(message, { status: 431, cause: error })
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return invalidInput('request timeout', { status: 408, cause: error })
  return invalidInput('malformed HTTP request', { cause: error })
}
