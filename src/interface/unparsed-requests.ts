import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { invalidInput, type InterfaceError } from './errors.ts'
import { requestIdHeader } from './headers.ts'

/** How long a client has to read the answer, and to close. */
const lingerMs = 1_000

/** Answers what the HTTP parser refused, where there is no request to answer, and closes the connection. */
export function answerUnparsed(socket: Duplex, refusal: InterfaceError): void {
  const requestId = randomUUID()
  const body = JSON.stringify(refusal.toResponse(requestId))
  closeBehind(
    socket,
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `${requestIdHeader}: ${requestId}\r\nconnection: close\r\n\r\n${body}`,
  )
}

/** Closes a connection behind its last bytes, which the client has a moment to read. */
export function closeBehind(socket: Duplex, lastBytes = ''): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  // To close at once would take the answer away, where something lies unread; not to close would wait for a client.
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(lastBytes)
}

/** An error of the HTTP parser as one of the interface (400, 408 or 431); the error is its cause. */
export function refuseUnparsed(error: NodeJS.ErrnoException): InterfaceError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return invalidInput('the head of the request is too large', { status: 431, cause: error })
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return invalidInput('the request did not arrive in time', { status: 408, cause: error })
  }
  return invalidInput('the request is not well-formed HTTP/1.1', { cause: error })
}
