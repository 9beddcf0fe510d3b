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

/** What was wrong with something that is no request. */
export type Unparsed = 'too large' | 'too slow' | 'malformed'

/** It as an error of the interface (400, 408 or 431). */
export function unparsedRefusal(what: Unparsed, cause: Error): InterfaceError {
  if (what === 'too large') return invalidInput('the request head is too large', { status: 431, cause })
  if (what === 'too slow') return invalidInput('request timeout', { status: 408, cause })
  return invalidInput('malformed HTTP/1.1 request', { cause })
}

const codes: Readonly<Record<string, Unparsed>> = {
  HPE_HEADER_OVERFLOW: 'too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'too slow',
}

/** An error of the HTTP parser of node as one of the interface; the error is its cause. */
export function refuseUnparsed(error: NodeJS.ErrnoException): InterfaceError {
  return unparsedRefusal(codes[error.code ?? ''] ?? 'malformed', error)
}
