/** Why no connection was established, for failures that have no code of Node. */
export type ConnectErrorCode =
  | 'CONNECT_TIMEOUT'
  | 'PROXY_UNREACHABLE'
  | 'PROXY_REFUSED'
  | 'PROXY_AUTHENTICATION'
  | 'PROXY_RESPONSE_INVALID'

/** The message has no credentials and nothing that a proxy has sent, except its status. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError'
  readonly code: ConnectErrorCode

  constructor(code: ConnectErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
