import type { IncomingRequest } from '../../http1/index.ts'
import type { CatalogError } from '../../catalog-api/index.ts'
import type { ConnectionErrorReason } from '../../listener/index.ts'
import { createThrottledLog, type GatewayLog, type Metrics, type Traces } from '../../observability/index.ts'
import { qualifiedRuleName } from '../../policy/index.ts'
import { isFailureStatus } from '../changes/outcome.ts'
import type { ObservedResponse } from '../downstream.ts'
import { isRestrictionRefusal } from '../restrictions/restricted-read.ts'
import { CrossSiteError } from '../stages/authenticate.ts'
import { type RequestEnd, stages, type Trace } from '../trace.ts'
import type { RefusalRecorder } from './refusal-recorder.ts'
import { writeRequestLogLine } from './request-log-line.ts'

export type RequestObserver = ReturnType<typeof createRequestObserver>

/** By reason: neither connections without requests nor shadow policies must fill the disk with log lines. */
const maxLinesPerSecond = 10

/** Creates what tells metrics, log, traces and audit log of the events of requests. */
export function createRequestObserver(
  metrics: Metrics,
  gatewayLog: GatewayLog,
  refusals: RefusalRecorder,
  traces: Traces | undefined,
) {
  const log = gatewayLog.logger
  const countRequest = createRequestCounter(metrics)
  const logThrottled = createThrottledLog(log, maxLinesPerSecond)
  let inProgress = 0
  metrics.active_requests(() => inProgress)

  /** Counts and logs a request that shadow policies would restrict otherwise. */
  function reportShadow({ route, principal, triedRestriction }: Trace['progress']): void {
    if (route === undefined || triedRestriction === undefined) return
    const { restriction, result, error } = triedRestriction
    const operation = route.operation.name
    metrics.policy_shadow_restrictions_total.inc({ operation, result })
    const candidateRules = restriction.parts.map(({ rule }) => qualifiedRuleName(rule))
    const common = { operation, id: route.id, principal: principal?.name, result }
    const members = { ...common, candidateRules, error: error?.message }
    logThrottled('info', result, members, 'shadow restriction differs')
  }

  return {
    requestStarted(trace: Trace, request: IncomingRequest): void {
      inProgress += 1
      trace.spans = traces?.startRequest(request.head.headers, trace.startedAt)
    },
    /** Called when the response is complete or aborted. */
    requestEnded(trace: Trace, response: ObservedResponse): void {
      inProgress -= 1
      const end = trace.end(response)
      countRequest(trace, end)
      reportShadow(trace.progress)
      writeRequestLogLine(gatewayLog, trace, response, end)
      endSpans(trace, end)
    },
    /** Called when a stage refuses the request. */
    requestRefused(trace: Trace, error: CatalogError): void {
      trace.refusal = error
      metrics.refusals_total.labels(trace.stage, error.reason).inc()
      // The caller did nothing wrong, and is known.
      if (error instanceof CrossSiteError) trace.progress = { ...trace.progress, principal: error.principal }
      refusals.record(trace, error)
    },
    /** Called for bytes that are not a request, and for a connection that was closed without a response. */
    connectionRejected: (reason: ConnectionErrorReason, client?: string, cause?: string): void => {
      metrics.refusals_total.labels('receive', reason).inc()
      const members = { stage: 'receive', reason, client, cause }
      logThrottled(reason === 'internal_error' ? 'error' : 'info', reason, members, 'connection refused')
    },
    /** Called if active requests are aborted by a shutdown. */
    requestsAborted: (): void => log.warn('drain timeout: active requests aborted'),
  }
}

/** Creates the function that counts and times requests. */
function createRequestCounter(metrics: Metrics): (trace: Trace, end: RequestEnd) => void {
  const { requests_total, request_duration_seconds, upstream_request_duration_seconds } = metrics
  const ofStages = stages.map((stage) => metrics.stage_duration_seconds.labels(stage))
  return ({ startedAt, sentAt, stageMs, progress, refusal }, { operation, status, decision, endedAt }) => {
    const { route, headPermit, upstream } = progress
    requests_total.labels(operation, String(status), decision).inc()
    request_duration_seconds.labels(operation).observe((endedAt - startedAt) / 1000)
    if (upstream !== undefined && !Number.isNaN(sentAt)) {
      const series = upstream_request_duration_seconds.labels(upstream.name, operation)
      series.observe((endedAt - sentAt) / 1000)
    }
    for (let index = 0; index < ofStages.length; index += 1) {
      const ms = stageMs[index] ?? NaN
      if (!Number.isNaN(ms)) ofStages[index]?.observe(ms / 1000)
    }
    if (route?.operation.effect !== 'read' || headPermit?.restriction === undefined) return
    const isRefused = refusal !== undefined && isRestrictionRefusal(refusal.reason)
    // A request that was placed was restricted.
    const result = isRefused ? refusal.reason : upstream && 'restricted'
    if (result !== undefined) metrics.restricted_reads_total.labels(operation, result).inc()
  }
}

/**
 * Ends the spans of a request, if traces are on. The span of the request has the principal, and not its address, the object
 * or credentials. Names follow the HTTP semantic conventions of OpenTelemetry, if there is one.
 */
function endSpans(trace: Trace, { operation, decision, status }: RequestEnd): void {
  const { spans, upstream, refusal } = trace
  if (!spans?.isSampled) return
  const { route, principal } = trace.progress
  const attributes = {
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
  spans.end(operation, { attributes, isFailure: isFailureStatus(status) })
}
