import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { closeGracefully } from '../../lib/index.ts'

/** Why bytes on a connection are not a valid request. */
export type RequestErrorReason =
  | 'request_timeout'
  | 'headers_too_large'
  | 'idle_timeout'
  | 'incomplete_request'
  | 'malformed_request'
  | 'tls_on_plain_port'

/** The message is for logs, not for clients. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly reason: RequestErrorReason

  constructor(reason: RequestErrorReason, message: string) {
    super(message)
    this.reason = reason
  }
}

export function malformed(message: string): RequestError {
  return new RequestError('malformed_request', message)
}

/** The response to bytes that are not a request. */
export interface ErrorResponse {
  readonly status: number
  /** Names and values in turn, without content-length and connection. */
  readonly headers: readonly string[]
  readonly body: string
}

export function closeWithError(socket: Socket, { status, headers, body }: ErrorResponse): void {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
  for (let index = 0; index < headers.length; index += 2)
    text += `${headers[index] ?? ''}: ${headers[index + 1] ?? ''}\r\n`
  text += `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`
  closeGracefully(socket, text + body)
}
