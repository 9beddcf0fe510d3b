import type { IncomingRequest } from '../../http1/index.ts'
import { type CatalogError, getNamespaceDepth, type RouteMatch } from '../../catalog-api/index.ts'
import { otherNamespaces } from '../../config/index.ts'
import { type ConnectionAddresses, memoize } from '../../lib/index.ts'
import type { ConnectionErrorReason } from '../../listener/index.ts'
import {
  createLogThrottle,
  type DurationHistogram,
  type Logger,
  type Metrics,
  type Traces,
} from '../../observability/index.ts'
import { qualifiedRuleName } from '../../policy/index.ts'
import { CrossSiteError } from '../stages/authenticate.ts'
import type { ObservedResponse } from '../downstream.ts'
import { isRestrictionRefusal } from '../restrictions/restricted-read.ts'
import { stages, type Trace } from '../trace.ts'
import type { RefusalRecorder } from './refusal-recorder.ts'
import type { Attributes } from '@opentelemetry/api'
import { isFailureStatus } from '../changes/outcome.ts'

/** Receives the events of requests from the server. */
export type RequestObserver = ReturnType<typeof createRequestObserver>

/** By reason: connections without requests must not fill the disk with log lines. */
const maxLinesPerSecond = 10

/** Creates an observer that counts and logs every request, and records denials in the audit log. */
export function createRequestObserver(
  metrics: Metrics,
  log: Logger,
  refusals: RefusalRecorder,
  sinks: readonly RequestSink[],
  traces: Traces | undefined,
  namespaces?: readonly string[],
) {
  const lines = createLogThrottle(maxLinesPerSecond)
  const nameNamespace = createNamespaceLabeler(namespaces)
  const counter = memoize((operation: string, status: string, decision: string, ...namespace: string[]) =>
    metrics.requests_total.labels(operation, status, decision, ...namespace),
  )
  const countRefusal = memoize((stage: string, reason: string) =>
    metrics.refusals_total.labels(stage, reason),
  )
  const requestTimer = memoize((operation: string) => metrics.request_duration_seconds.labels(operation))
  const upstreamTimer = memoize((upstream: string, operation: string) =>
    metrics.upstream_request_duration_seconds.labels(upstream, operation),
  )
  const observeRestriction = createRestrictionObserver(metrics, log)
  const timeStages = createStageTimer(metrics.stage_duration_seconds)
  let inProgress = 0
  metrics.active_requests(() => inProgress)
  return {
    requestStarted(trace: Trace, request: IncomingRequest): void {
      inProgress += 1
      if (traces === undefined) return
      trace.spans = traces.startRequest(request.headersByName(), trace.startedAt)
      if (trace.spans.isSampled) trace.traceId = trace.spans.traceId
      trace.spans.startStage(trace.stage, trace.startedAt)
    },
    requestEnded,
    /** Called when a stage refuses the request. */
    requestRefused(trace: Trace, error: CatalogError): void {
      trace.refusal = error
      countRefusal(trace.stage, error.reason).inc()
      // The caller did nothing wrong, and is known.
      if (error instanceof CrossSiteError) trace.progress = { ...trace.progress, principal: error.principal }
      refusals.record(trace, error)
    },
    connectionRejected,
    /** Called if active requests are aborted by a shutdown. */
    requestsAborted: (): void => log.warn('drain timeout: active requests aborted'),
  }

  /** Called for bytes that are not a request, and for a connection that was closed without a response. */
  function connectionRejected(
    reason: ConnectionErrorReason,
    addresses?: ConnectionAddresses,
    cause?: string,
  ): void {
    countRefusal('receive', reason).inc()
    const suppressed = lines.take(reason)
    if (suppressed === undefined) return
    log[reason === 'internal_error' ? 'error' : 'info'](
      {
        stage: 'receive',
        reason,
        client: addresses?.client,
        ...(addresses && addresses.peer !== addresses.client && { peer: addresses.peer }),
        ...(cause !== undefined && { cause }),
        ...(suppressed > 0 && { suppressed }),
      },
      'connection refused',
    )
  }

  /** Called when the response is complete or aborted: updates metrics and writes the log line. */
  function requestEnded(trace: Trace, response: ObservedResponse): void {
    const now = performance.now()
    inProgress -= 1
    const { passThrough } = trace
    const operation =
      trace.progress.route?.operation.name ?? trace.document ?? (passThrough ? 'PassThrough' : 'unknown')
    const { refusal } = trace
    const isAllowed = passThrough?.isAllowed ?? (trace.progress.allowedBy ? true : undefined)
    const isDenied = passThrough?.isAllowed === false || trace.denial !== undefined
    const decision = isAllowed === true ? 'allow' : isDenied ? 'deny' : 'none'
    const status = response.hasHead ? response.status : 499
    const namespace = nameNamespace === undefined ? [] : [nameNamespace(trace.progress.route)]
    counter(operation, String(status), decision, ...namespace).inc()
    observeRestriction(trace, namespace)
    requestTimer(operation).observe((now - trace.startedAt) / 1000, trace.traceId)
    if (trace.upstream !== undefined && !Number.isNaN(trace.sentAt)) {
      const seconds = (now - trace.sentAt) / 1000
      upstreamTimer(trace.upstream, operation).observe(seconds, trace.traceId)
    }
    trace.endStage(now)
    timeStages(trace)
    const end: RequestEnd = { operation, status, decision, refusal, endedAt: now }
    for (const sink of sinks) sink(trace, response, end)
  }
}

/** Creates a function that records the stage durations of a completed request. */
function createStageTimer(histogram: DurationHistogram): (trace: Trace) => void {
  // Looked up once: this runs for every request.
  const series = stages.map((stage) => histogram.labels(stage))
  return ({ stageMs }) => {
    for (let index = 0; index < series.length; index += 1) {
      const ms = stageMs[index] ?? NaN
      if (!Number.isNaN(ms)) series[index]?.observe(ms / 1000)
    }
  }
}

/**
 * Namespaces outside of the configured list are `other`, so that callers cannot create series. Undefined without a
 * list.
 */
function createNamespaceLabeler(
  names: readonly string[] | undefined,
): ((route: RouteMatch | undefined) => string) | undefined {
  if (names === undefined) return undefined
  const known = new Set(names)
  return (route) => {
    if (route === undefined) return otherNamespaces
    const { operation, id } = route
    // The id of a table in the root namespace begins with the name of the table.
    const first = getNamespaceDepth(operation.object, id) > 0 ? id[0] : undefined
    return first !== undefined && known.has(first) ? first : otherNamespaces
  }
}

/** Creates a function that counts a request that restrictions, or those of shadow policies, apply to. */
function createRestrictionObserver(
  metrics: Metrics,
  log: Logger,
): (trace: Trace, namespace: readonly string[]) => void {
  const lines = createLogThrottle(maxLinesPerSecond)
  const counter = memoize((operation: string, result: string, ...namespace: string[]) =>
    metrics.restricted_reads_total.labels(operation, result, ...namespace),
  )

  function reportShadow({ progress: { route, principal, triedRestriction } }: Trace): void {
    if (route === undefined || triedRestriction === undefined) return
    const { restriction, result, error } = triedRestriction
    const operation = route.operation.name
    metrics.policy_shadow_restrictions_total.inc({ operation, result })
    const suppressed = lines.take(result)
    if (suppressed === undefined) return
    const candidateRules = restriction.parts.map(({ rule }) => qualifiedRuleName(rule))
    const common = { operation, id: route.id, principal: principal?.name, result }
    log.info({ ...common, candidateRules, error: error?.message, suppressed }, 'shadow restriction differs')
  }

  return (trace, namespace) => {
    const { route, headPermit, upstream } = trace.progress
    const { refusal } = trace
    if (route !== undefined && route.operation.effect === 'read' && headPermit?.restriction !== undefined) {
      const isRefused = refusal !== undefined && isRestrictionRefusal(refusal.reason)
      // A request that was placed was restricted.
      const result = isRefused ? refusal.reason : upstream && 'restricted'
      if (result !== undefined) counter(route.operation.name, result, ...namespace).inc()
    }
    reportShadow(trace)
  }
}

/** The end of a request, for its log line, metrics, spans and the console. */
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

/** Receives the end of each request. */
export type RequestSink = (trace: Trace, response: ObservedResponse, end: RequestEnd) => void

/** Ends the spans of a request, if traces are on. */
export const endSpans: RequestSink = (trace, _response, end) => {
  if (trace.spans === undefined) return
  const attributes = trace.spans.isSampled ? createSpanAttributes(trace, end) : {}
  const isFailure = isFailureStatus(end.status)
  trace.spans.end(
    end.operation,
    { attributes, isFailure },
    end.refusal && { 'error.type': end.refusal.reason },
  )
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
