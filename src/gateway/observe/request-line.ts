import type { InterfaceError } from '../../interface/errors.ts'
import type { ClientAnswer } from '../edge/client-answer.ts'
import { carriedSince } from '../edge/connection-bytes.ts'
import { DeniedError } from '../denied-error.ts'
import type { RequestEnd } from './request-end.ts'
import type { Stage, Trace } from '../trace.ts'

/**
 * The line of a request in the log, in the words of the design. It holds no header, no query and no body: what of
 * them a message quotes is their structure, never a value that could be a secret. Whoever counts lines counts each as
 * one divided by its sample rate.
 */
export function requestLine(
  trace: Trace,
  response: ClientAnswer,
  end: RequestEnd,
  sampleRate: number | undefined,
): object {
  const { operation, status, decision, refusal, endedAt } = end
  const { meaning, principal, upstream, spans } = trace
  const decided =
    trace.allowedBy ?? (refusal?.error instanceof DeniedError ? refusal.error.decision : undefined)
  const { bytesIn, bytesOut } = carriedSince(response.request.socket)
  return {
    requestId: trace.requestId,
    traceId: spans?.traceId,
    client: trace.client,
    principal: principal?.name,
    authentication: principal?.method,
    operation,
    id: meaning?.id,
    decision,
    policy: decided?.rule?.policy,
    rule: decided?.rule?.rule,
    policyRevision: decided?.revision,
    upstream,
    status,
    bytesIn,
    bytesOut,
    durationMs: milliseconds(endedAt - trace.startedAt),
    stageMs: stageDurations(trace),
    complete: response.isWhole,
    stage: refusal && trace.stage,
    reason: refusal?.reason,
    error: refusal?.error.message,
    cause: refusal && causeOf(refusal.error),
    sampleRate,
  }
}

function stageDurations(trace: Trace): object {
  return {
    receive: milliseconds(trace.tookMs('receive')),
    match: milliseconds(trace.tookMs('match')),
    authenticate: milliseconds(trace.tookMs('authenticate')),
    authorize: milliseconds(trace.tookMs('authorize')),
    limit: milliseconds(trace.tookMs('limit')),
    check: milliseconds(trace.tookMs('check')),
    audit: milliseconds(trace.tookMs('audit')),
    forward: milliseconds(trace.tookMs('forward')),
  } satisfies Record<Stage, number | undefined>
}

function milliseconds(duration: number | undefined): number | undefined {
  return duration === undefined ? undefined : Math.round(duration * 1000) / 1000
}

/** Of a failure that is ours, where it happened. What is said of broken JSON quotes it, secrets included. */
function causeOf({ kind, cause }: InterfaceError): string | undefined {
  if (!(cause instanceof Error)) return undefined
  if (cause instanceof SyntaxError) return cause.name
  return kind === 'Internal' ? cause.stack : String(cause)
}
