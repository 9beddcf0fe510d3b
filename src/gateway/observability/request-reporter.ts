import { isFailureStatus } from '../changes/outcome.ts'
import { getRefusalLevel } from '../../catalog-api/catalog-error.ts'
import type { GatewayLog } from '../../observability/log/gateway-log.ts'
import type { DownstreamRequest, ObservedResponse } from '../downstream.ts'
import type { Traces } from '../../observability/traces/traces.ts'
import type { RequestEnd } from './request-end.ts'
import { formatRequestLogLine } from './request-log-line.ts'
import type { Trace } from '../trace.ts'
import type { Attributes } from '@opentelemetry/api'

/** Reports single requests: log lines and, if traces are on, spans. */
export interface RequestReporter {
  requestStarted(trace: Trace, request: DownstreamRequest): void
  requestEnded(trace: Trace, response: ObservedResponse, end: RequestEnd): void
}

/** Creates the reporter; without traces it does no work for them. */
export function createRequestReporter(
  log: Pick<GatewayLog, 'logger' | 'write'>,
  traces: Traces | undefined,
): RequestReporter {
  return {
    requestStarted(trace, request) {
      if (traces === undefined) return
      trace.spans = traces.startRequest(request.headersByName(), trace.startedAt)
      if (trace.spans.isSampled) trace.traceId = trace.spans.traceId
      trace.spans.startStage(trace.stage, trace.startedAt)
    },
    requestEnded(trace, response, end) {
      writeLogLine(log, trace, response, end)
      if (trace.spans === undefined) return
      const attributes = trace.spans.isSampled ? createSpanAttributes(trace, end) : {}
      const isFailure = isFailureStatus(end.status)
      trace.spans.end(
        end.operation,
        { attributes, isFailure },
        end.refusal && { 'error.type': end.refusal.reason },
      )
    },
  }
}

function writeLogLine(
  log: Pick<GatewayLog, 'logger' | 'write'>,
  trace: Trace,
  response: ObservedResponse,
  end: RequestEnd,
): void {
  const level = end.refusal
    ? getRefusalLevel(end.refusal.reason)
    : isFailureStatus(end.status)
      ? 'warn'
      : 'info'
  if (!log.logger.isLevelEnabled(level)) return
  log.write(level, formatRequestLogLine(trace, response, end), 'request completed')
}

/**
 * Creates the attributes of the request span: with the principal, and without its address, the object and credentials. Names follow the HTTP semantic conventions of OpenTelemetry, if there is one.
 */
function createSpanAttributes(
  trace: Trace,
  { operation, decision, status, refusal }: RequestEnd,
): Attributes {
  const { upstream } = trace
  const { route, principal } = trace.progress
  return {
    'catalog_gateway.request': trace.requestId,
    'catalog_gateway.operation': operation,
    'catalog_gateway.decision': decision,
    'http.response.status_code': status,
    'http.request.method': trace.method,
    ...(route && { 'http.route': route.operation.path }),
    ...(upstream !== undefined && { 'catalog_gateway.upstream': upstream }),
    ...(refusal && { 'error.type': refusal.reason, 'catalog_gateway.stage': trace.stage }),
    ...(principal && { 'enduser.id': principal.name }),
  }
}
