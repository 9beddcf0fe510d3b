import type { IncomingRequest } from '../../http1/index.ts'
import type { CatalogError } from '../../catalog-api/index.ts'
import type { ConnectionErrorReason } from '../../listener/index.ts'
import { createThrottledLog, type Logger, type Metrics, type Traces } from '../../observability/index.ts'
import { qualifiedRuleName } from '../../policy/index.ts'
import { isFailureStatus } from '../changes/outcome.ts'
import type { ObservedResponse } from '../downstream.ts'
import { isRestrictionRefusal } from '../restrictions/restricted-read.ts'
import { CrossSiteError } from '../stages/authenticate.ts'
import { stages, type Trace } from '../trace.ts'
import type { RefusalRecorder } from './refusal-recorder.ts'

/** The end of a request. */
export interface RequestEnd {
  /** Name of the operation or document, or `unknown`. */
  readonly operation: string
  /** Status of the response; 499 if the client disconnected first. */
  readonly status: number
  /** Decision of the policies; `none` if they were not asked, or not about the body. */
  readonly decision: 'allow' | 'deny' | 'none'
  readonly refusal: CatalogError | undefined
  /** Milliseconds of performance.now(). */
  readonly endedAt: number
}

/** Receives the end of each request: metrics, log line, spans, console. */
export type RequestSink = (trace: Trace, response: ObservedResponse, end: RequestEnd) => void

/** Receives the events of requests from the server. */
export type RequestObserver = ReturnType<typeof createRequestObserver>

/** By reason: connections without requests must not fill the disk with log lines. */
const maxLinesPerSecond = 10

/** Creates an observer that records denials in the audit log, and tells the sinks of the end of every request. */
export function createRequestObserver(
  metrics: Metrics,
  log: Logger,
  refusals: RefusalRecorder,
  sinks: readonly RequestSink[],
  traces: Traces | undefined,
) {
  const logThrottled = createThrottledLog(log, maxLinesPerSecond)
  let inProgress = 0
  metrics.active_requests(() => inProgress)
  return {
    requestStarted(trace: Trace, request: IncomingRequest): void {
      inProgress += 1
      trace.spans = traces?.startRequest(request.head.headers, trace.startedAt)
    },
    /** Called when the response is complete or aborted. */
    requestEnded(trace: Trace, response: ObservedResponse): void {
      inProgress -= 1
      const end = describeEnd(trace, response, performance.now())
      trace.endStage(end.endedAt)
      for (const sink of sinks) sink(trace, response, end)
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

function describeEnd(trace: Trace, response: ObservedResponse, endedAt: number): RequestEnd {
  const { passThrough, progress, refusal } = trace
  const isAllowed = passThrough?.isAllowed ?? (progress.allowedBy ? true : undefined)
  const isDenied = passThrough?.isAllowed === false || trace.denial !== undefined
  return {
    operation: progress.route?.operation.name ?? trace.document ?? (passThrough ? 'PassThrough' : 'unknown'),
    status: response.hasHead ? response.status : 499,
    decision: isAllowed === true ? 'allow' : isDenied ? 'deny' : 'none',
    refusal,
    endedAt,
  }
}

/** Creates the sink that counts and times requests. */
export function createMetricsSink(metrics: Metrics): RequestSink {
  const { requests_total, request_duration_seconds, upstream_request_duration_seconds } = metrics
  const ofStages = stages.map((stage) => metrics.stage_duration_seconds.labels(stage))
  return (trace, _response, { operation, status, decision, refusal, endedAt }) => {
    const { startedAt, sentAt, stageMs } = trace
    const { route, headPermit, upstream } = trace.progress
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

/** Creates the sink that counts and logs requests that shadow policies would restrict otherwise. */
export function createShadowSink(metrics: Metrics, log: Logger): RequestSink {
  const logThrottled = createThrottledLog(log, maxLinesPerSecond)
  return ({ progress: { route, principal, triedRestriction } }) => {
    if (route === undefined || triedRestriction === undefined) return
    const { restriction, result, error } = triedRestriction
    const operation = route.operation.name
    metrics.policy_shadow_restrictions_total.inc({ operation, result })
    const candidateRules = restriction.parts.map(({ rule }) => qualifiedRuleName(rule))
    const common = { operation, id: route.id, principal: principal?.name, result }
    const members = { ...common, candidateRules, error: error?.message }
    logThrottled('info', result, members, 'shadow restriction differs')
  }
}

/** Ends the spans of a request, if traces are on. */
export const endSpans: RequestSink = (trace, _response, end) => {
  if (trace.spans === undefined) return
  const attributes = trace.spans.isSampled ? createSpanAttributes(trace, end) : {}
  trace.spans.end(end.operation, { attributes, isFailure: isFailureStatus(end.status) })
}

/**
 * Creates the attributes of the request span: with the principal, and without its address, the object and credentials. Names
 * follow the HTTP semantic conventions of OpenTelemetry, if there is one.
 */
function createSpanAttributes(
  trace: Trace,
  { operation, decision, status, refusal }: RequestEnd,
): Readonly<Record<string, string | number>> {
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
