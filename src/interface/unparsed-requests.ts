import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { invalidInput, type InterfaceError } from './errors.ts'
import { requestIdHeader } from './headers.ts'

/**
 * Answers what the HTTP parser refused, where there is no request yet (400, 408 or 431), in the shape of the
 * interface, and closes the connection. Returns the refusal, whose cause is the error of the parser.
 */
export function refuseUnparsed(error: NodeJS.ErrnoException, socket: Duplex): InterfaceError {
  const refusal = refusalOf(error)
  if (!socket.writable) {
    socket.destroy()
    return refusal
  }
  const requestId = randomUUID()
  const body = JSON.stringify(refusal.toResponse(requestId))
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `${requestIdHeader}: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
  )
  return refusal
}

function refusalOf(error: NodeJS.ErrnoException): InterfaceError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return invalidInput('the head of the request is too large', { status: 431, cause: error })
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return invalidInput('the request did not arrive in time', { status: 408, cause: error })
  }
  return invalidInput('the request is not well-formed HTTP/1.1', { cause: error })
}
