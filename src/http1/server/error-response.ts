import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { closeGracefully } from '../../lib/net/close-gracefully.ts'

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
