/** Why no answer came, or not all of one, in a word that audit records and the log keep. */
export type TransportCode =
  | 'CONNECT_TIMEOUT'
  | 'ANSWER_TIMEOUT'
  | 'IDLE_TIMEOUT'
  | 'BROKEN_OFF'
  | 'BAD_ANSWER'
  | 'BAD_REQUEST'
  | 'CLOSED'

/** An exchange failed for what its connection did, or for how long it did nothing. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code: TransportCode

  constructor(code: TransportCode, message: string) {
    super(message)
    this.code = code
  }
}

/** The exchange took longer than any may. */
export class ExchangeTimedOut extends Error {
  override readonly name = 'ExchangeTimedOut'
}

/** What came is no answer of HTTP/1.1, or one that two readers could read in two ways. */
export function badAnswer(what: string): TransportError {
  return new TransportError('BAD_ANSWER', what)
}
