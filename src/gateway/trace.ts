import type { IncomingMessage } from 'node:http'
import type { Principal } from '../identity/principal.ts'
import { requestIdHeader, requestIdOf } from '../interface/headers.ts'
import type { Target } from '../interface/target.ts'
import type { Allowed } from '../policy/decision.ts'

/** The stages of the way of a request, in order. */
type Stage = 'receive' | 'match' | 'authenticate' | 'authorize' | 'check' | 'audit' | 'forward'

/** What is known of a request so far: for its line in the log, its metrics and its refusal. */
export interface Trace {
  readonly requestId: string
  readonly client: string
  readonly startedAt: number
  stage: Stage
  meaning?: Target
  principal?: Principal
  allowedBy?: Allowed
  /** The name of the upstream that it goes to. */
  upstream?: string
  forwardedAt?: number
}

/** Begins the trace of a request, before anything of it has been judged. */
export function beginTrace(request: IncomingMessage): Trace {
  return {
    requestId: requestIdOf(request.headers[requestIdHeader]),
    client: request.socket.remoteAddress ?? '',
    startedAt: performance.now(),
    stage: 'receive',
  }
}
