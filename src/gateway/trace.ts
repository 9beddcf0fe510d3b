import type { IncomingMessage } from 'node:http'
import type { Principal } from '../identity/principal.ts'
import { requestIdHeader, requestIdOf } from '../interface/headers.ts'
import type { Target } from '../interface/target.ts'
import type { Allowed } from '../policy/decision.ts'
import type { RequestSpans } from '../telemetry/request-spans.ts'

/** The stages of the way of a request, in order. */
export type Stage =
  | 'receive'
  | 'match'
  | 'authenticate'
  | 'authorize'
  | 'limit'
  | 'check'
  | 'audit'
  | 'forward'

/** A stage that a request came to, and when it began (milliseconds of performance.now()). */
interface EnteredStage {
  readonly stage: Stage
  readonly at: number
}

/** What is known of a request so far: for its line in the log, its metrics and its refusal. */
export interface Trace {
  readonly requestId: string
  readonly client: string
  readonly startedAt: number
  stage: Stage
  /** In order. A stage ends where the next begins, the last one with the answer. */
  readonly entered: EnteredStage[]
  meaning?: Target
  principal?: Principal
  allowedBy?: Allowed
  /** Of the policies that decide on it. */
  policyRevision: string | undefined
  /** The name of the upstream that it goes to. */
  upstream?: string
  forwardedAt?: number
  /** The id of the trace that is told of it, where there is one. */
  traceId?: string
  /** Where traces are on. */
  spans?: RequestSpans
}

/** Begins the trace of a request, before anything of it has been judged. */
export function beginTrace(request: IncomingMessage): Trace {
  const startedAt = performance.now()
  return {
    requestId: requestIdOf(request.headers[requestIdHeader]),
    client: request.socket.remoteAddress ?? '',
    startedAt,
    stage: 'receive',
    policyRevision: undefined,
    entered: [{ stage: 'receive', at: startedAt }],
  }
}

/** Notes that a stage begins, and with it that the one before is over. */
export function enter(trace: Trace, stage: Stage): void {
  const at = performance.now()
  trace.stage = stage
  trace.entered.push({ stage, at })
  trace.spans?.enter(stage, at)
}
