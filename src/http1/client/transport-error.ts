/** Why no complete response was received; used in logs and audit records. */
type TransportErrorCode =
  | 'REQUEST_TIMEOUT'
  | 'HEADERS_TIMEOUT'
  | 'BODY_TIMEOUT'
  | 'CONNECTION_CLOSED'
  | 'BAD_RESPONSE'
  | 'BAD_REQUEST'
  | 'CLIENT_CLOSED'

export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code: TransportErrorCode

  constructor(code: TransportErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

export function badResponse(message: string): TransportError {
  return new TransportError('BAD_RESPONSE', message)
}
