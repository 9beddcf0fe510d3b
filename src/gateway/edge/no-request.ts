import { unparsedRefusal, type Unparsed } from '../../interface/unparsed-requests.ts'
import type { InterfaceError } from '../../interface/errors.ts'

/** Why what came over a connection was no request. */
export type UnparsedReason =
  | 'cut_short'
  | 'head_too_large'
  | 'head_too_slow'
  | 'idle'
  | 'malformed'
  | 'tls_handshake'
  | 'tls_to_plain_port'

/** As what a reason is answered; for the others nobody listens. */
const answers: Readonly<Partial<Record<UnparsedReason, Unparsed>>> = {
  cut_short: 'malformed',
  head_too_large: 'too large',
  head_too_slow: 'too slow',
  malformed: 'malformed',
  tls_to_plain_port: 'malformed',
}

/** What came over a connection is no request. The message says what is wrong with it, for the log. */
export class NoRequest extends Error {
  override readonly name = 'NoRequest'
  readonly reason: UnparsedReason

  constructor(reason: UnparsedReason, message: string) {
    super(message)
    this.reason = reason
  }

  /** What the client is told; undefined where the connection is closed without a word. */
  get refusal(): InterfaceError | undefined {
    const answer = answers[this.reason]
    return answer && unparsedRefusal(answer, this)
  }
}

/** What is not as HTTP/1.1 demands. */
export function malformed(what: string): NoRequest {
  return new NoRequest('malformed', what)
}
