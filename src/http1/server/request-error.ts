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
