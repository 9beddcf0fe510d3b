import type { ServerResponse } from 'node:http'
import type { AuditLog } from '../audit/log.ts'
import { AuditUnavailable } from '../audit/unavailable.ts'
import { AuthenticationRefused } from '../identity/refusal.ts'
import type { InterfaceError } from '../interface/errors.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { limitLines } from '../telemetry/limit-lines.ts'
import { BodyTooSlow } from './client-body.ts'
import type { ConnectionRefusal } from './connections.ts'
import { DeniedError } from './denied-error.ts'
import type { RefusedCredentials } from './refused-credentials.ts'
import type { Trace } from './trace.ts'
import type { UnparsedReason } from './unparsed-reason.ts'

/** What the server tells as requests come and go. */
export interface GatewayTelemetry {
  /** A request has arrived; its line and its metrics are written when its answer is over. */
  begun(trace: Trace, response: ServerResponse): void
  /** A stage refused it. */
  refused(trace: Trace, error: InterfaceError, response: ServerResponse): void
  /** What came over a connection was no request, or its connection was closed without an answer. */
  readonly turnedAway: (
    reason: UnparsedReason | ConnectionRefusal | 'certificate' | 'tunnel',
    client?: string,
    cause?: string,
  ) => void
  /** The gateway closes, and requests that are under way are cut off. */
  readonly stragglers: () => void
}

/** Whoever sends no requests must not fill the disk with lines about it: so many of each reason are written. */
const maximumLinesPerSecond = 10

/** Counts and logs every request, and records in the audit log what the policies denied. */
export function observeGateway(
  metrics: Metrics,
  log: Logger,
  audit: AuditLog,
  credentials: RefusedCredentials,
): GatewayTelemetry {
  const refusals = new WeakMap<ServerResponse, { error: InterfaceError; reason: string }>()
  const lines = limitLines(maximumLinesPerSecond)
  // Finding a series by its labels costs more than counting in it: each is found once.
  const counter = remember((operation: string, status: string, decision: string) =>
    metrics.requests.labels(operation, status, decision),
  )
  const requestTimer = remember((operation: string) => metrics.requestSeconds.labels(operation))
  const upstreamTimer = remember((upstream: string, operation: string) =>
    metrics.upstreamSeconds.labels(upstream, operation),
  )
  return {
    begun(trace, response) {
      response.once('close', () => ended(trace, response))
    },
    refused(trace, error, response) {
      const reason = reasonOf(error)
      refusals.set(response, { error, reason })
      metrics.refusals.inc({ stage: trace.stage, reason })
      if (error instanceof DeniedError) recordDenial(audit, trace, error)
      if (error instanceof AuthenticationRefused) credentials.note(trace, error)
    },
    turnedAway(reason, client, cause) {
      metrics.refusals.inc({ stage: 'receive', reason })
      const heldBack = lines.take(reason)
      if (heldBack === undefined) return
      log.info(
        {
          stage: 'receive',
          reason,
          client,
          ...(cause !== undefined && { cause }),
          ...(heldBack > 0 && { heldBack }),
        },
        'refused before there was a request',
      )
    },
    stragglers: () => log.warn('requests under way are cut off: they took longer than the grace'),
  }

  function ended(trace: Trace, response: ServerResponse): void {
    const now = performance.now()
    const operation = trace.meaning?.operation.name ?? 'unknown'
    const refusal = refusals.get(response)
    const decision = trace.allowedBy ? 'allow' : refusal?.error instanceof DeniedError ? 'deny' : 'none'
    const status = response.headersSent ? response.statusCode : 499
    counter(operation, String(status), decision).inc()
    requestTimer(operation).observe((now - trace.startedAt) / 1000)
    if (trace.forwardedAt !== undefined) {
      upstreamTimer(trace.upstream ?? '', operation).observe((now - trace.forwardedAt) / 1000)
    }
    const level = status >= 500 ? 'warn' : 'info'
    if (!log.isLevelEnabled(level)) return
    log[level](
      {
        requestId: trace.requestId,
        client: trace.client,
        operation,
        id: trace.meaning?.id,
        principal: trace.principal?.name,
        status,
        durationMs: Math.round((now - trace.startedAt) * 1000) / 1000,
        complete: response.writableFinished,
        ...(refusal && {
          stage: trace.stage,
          reason: refusal.reason,
          error: refusal.error.message,
          cause: causeOf(refusal.error),
        }),
      },
      'request',
    )
  }
}

/** Remembers what was found for the same labels. */
function remember<Labels extends readonly string[], Found>(find: (...labels: Labels) => Found) {
  const known = new Map<string, Found>()
  return (...labels: Labels): Found => {
    const key = labels.join(' ')
    let found = known.get(key)
    if (found === undefined) known.set(key, (found = find(...labels)))
    return found
  }
}

/** Why a request was refused, in one word of a closed set. */
function reasonOf(error: InterfaceError): string {
  if (error instanceof AuthenticationRefused) return error.reason
  if (error instanceof DeniedError) return error.decision.reason
  if (error instanceof BodyTooSlow) return 'body_too_slow'
  if (error instanceof AuditUnavailable) return `audit_${error.reason}`
  return error.kind
}

function causeOf(error: InterfaceError): string | undefined {
  if (error.kind === 'Internal' && error.cause instanceof Error) return error.cause.stack
  return error.cause instanceof Error ? String(error.cause) : undefined
}

function recordDenial(audit: AuditLog, trace: Trace, error: DeniedError): void {
  const { meaning, principal } = trace
  if (meaning === undefined || principal === undefined) return
  const { reason, rule, revision } = error.decision
  audit.refusal({
    request: trace.requestId,
    status: error.status,
    reason,
    operation: meaning.operation.name,
    id: meaning.id,
    principal,
    ...(rule && { rule }),
    policyRevision: revision,
    client: trace.client,
    details: { needs: error.needs },
  })
}
