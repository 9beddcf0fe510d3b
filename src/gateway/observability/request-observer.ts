import { idToJson, memberToJson } from '../../audit/index.ts'
import type { IncomingRequest } from '../../http1/index.ts'
import { type CatalogError, refusals } from '../../catalog-api/index.ts'
import type { Principal } from '../../identity/index.ts'
import { memoizeByObject } from '../../lib/index.ts'
import type { ConnectionErrorReason } from '../../listener/index.ts'
import { createThrottledLog, type GatewayLog, type Metrics, type Traces } from '../../observability/index.ts'
import { qualifiedRuleName, type RuleReference } from '../../policy/index.ts'
import { isFailureStatus } from '../changes/outcome.ts'
import type { ObservedResponse } from '../downstream.ts'
import { describeCause } from '../error-response.ts'
import { isRestrictionRefusal } from '../restrictions/restricted-read.ts'
import { type RequestEnd, stages, type Trace } from '../trace.ts'
import type { RefusalRecorder } from './refusal-recorder.ts'

export type RequestObserver = ReturnType<typeof createRequestObserver>

/** By reason: neither connections without requests nor shadow policies must fill the disk with log lines. */
const maxLinesPerSecond = 10

/** Creates the observer that reports events of requests to metrics, log, traces and audit log. */
export function createRequestObserver(
  metrics: Metrics,
  gatewayLog: GatewayLog,
  recorder: RefusalRecorder,
  traces: Traces | undefined,
) {
  const log = gatewayLog.logger
  const logThrottled = createThrottledLog(log, maxLinesPerSecond)
  // By upstream: every listing may report the same.
  const logListing = createThrottledLog(log, 1)
  const { requests_total, request_duration_seconds, upstream_request_duration_seconds } = metrics
  const ofStages = stages.map((stage) => metrics.stage_duration_seconds.labels(stage))
  let inProgress = 0
  metrics.active_requests(() => inProgress)

  /** Counts and times a request. */
  function countRequest(
    { startedAt, sentAt, stageMs, progress, refusal }: Trace,
    { operation, status, decision, endedAt }: RequestEnd,
  ): void {
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

  /** Counts and logs a request that shadow policies would restrict otherwise. */
  function reportShadow({ route, principal, triedRestriction }: Trace['progress']): void {
    if (route === undefined || triedRestriction === undefined) return
    const { restriction, result, error } = triedRestriction
    const operation = route.operation.name
    metrics.policy_shadow_restrictions_total.inc({ operation, result })
    const candidateRules = restriction.parts.map(({ rule }) => qualifiedRuleName(rule))
    const common = { operation, id: route.id, principal: principal?.name, result }
    const members = { ...common, candidateRules, error }
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
      recorder.record(trace, error)
    },
    /** Called for bytes that are not a request, and for a connection that was closed without a response. */
    connectionRejected: (reason: ConnectionErrorReason, client?: string, cause?: string): void => {
      metrics.refusals_total.labels('receive', reason).inc()
      const members = { stage: 'receive', reason, client, cause }
      logThrottled(reason === 'internal_error' ? 'error' : 'info', reason, members, 'connection refused')
    },
    /** Called if a listing lacks the names of an upstream. */
    upstreamMissing(upstream: string, error: CatalogError, requestId: string): void {
      const { reason, message } = error
      metrics.incomplete_listings_total.inc({ upstream })
      const members = { upstream, reason, error: message, cause: describeCause(error), requestId }
      logListing('warn', `missing ${upstream}`, members, 'incomplete listing')
    },
    /** Called if an upstream lists a name that no request could contain: the message quotes, escapes and truncates it. */
    nameLeftOut(upstream: string, { message: reason }: CatalogError): void {
      metrics.listed_names_left_out_total.inc({ upstream })
      logListing('warn', `name ${upstream}`, { upstream, reason }, 'name left out of a listing')
    },
    /** Called if active requests are aborted by a shutdown. */
    requestsAborted: (): void => log.warn('drain timeout: active requests aborted'),
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

/** Writes the log line of a request, unless its level is off. */
function writeRequestLogLine(
  log: GatewayLog,
  trace: Trace,
  response: ObservedResponse,
  end: RequestEnd,
): void {
  const reason = trace.refusal?.reason
  const usual = isFailureStatus(end.status) ? 'warn' : 'info'
  const level = reason === undefined ? usual : (refusals[reason].level ?? 'info')
  if (!log.logger.isLevelEnabled(level)) return
  log.write(level, formatRequestLogLine(trace, response, end), 'request completed')
}

/**
 * Formats the log line of a request as JSON members, each with the comma before it. It contains no header, query or
 * body; messages describe their structure, never a value that could be a secret.
 */
function formatRequestLogLine(trace: Trace, response: ObservedResponse, end: RequestEnd): string {
  const { operation, status, decision, endedAt } = end
  const { upstream, spans, refusal } = trace
  const { route, principal, allowedBy, headPermit } = trace.progress
  const decided = allowedBy ?? trace.denial
  return (
    memberToJson('requestId', trace.requestId) +
    memberToJson('traceId', spans?.traceId) +
    memberToJson('client', trace.client) +
    memberToJson('peer', trace.peer) +
    (principal === undefined ? '' : formatPrincipalMembers(principal)) +
    `,"operation":"${operation}"` +
    memberToJson('prefix', trace.passThrough?.prefix) +
    (route === undefined ? '' : `,"id":${idToJson(route.id)}`) +
    `,"decision":"${decision}"` +
    (decision === 'deny' && principal !== undefined ? formatGroupsMember(principal) : '') +
    (decided?.rule === undefined ? '' : formatRuleMembers(decided.rule)) +
    memberToJson(
      'restrictedBy',
      headPermit?.restriction?.parts.map(({ rule }) => qualifiedRuleName(rule)),
    ) +
    memberToJson('policyRevision', decided?.revision) +
    memberToJson('upstream', upstream) +
    `,"status":${status},"bytesIn":${response.request.bytesReceived},"bytesOut":${response.request.bytesSent}` +
    `,"durationMs":${formatMilliseconds(endedAt - trace.startedAt)},"stageMs":{${formatStageDurations(trace)}}` +
    `,"complete":${response.isComplete}` +
    (refusal === undefined
      ? ''
      : memberToJson('stage', trace.stage) +
        memberToJson('reason', refusal.reason) +
        formatErrorMembers(refusal)) +
    (trace.upstreamError === undefined ? '' : formatErrorMembers(trace.upstreamError))
  )
}

function formatErrorMembers(error: CatalogError): string {
  return memberToJson('error', error.message) + memberToJson('cause', describeCause(error))
}

const formatPrincipalMembers = memoizeByObject(
  ({ name, method }: Principal) => memberToJson('principal', name) + memberToJson('authentication', method),
)
/** Tokens may have hundreds of groups. */
const [maxGroups, maxGroupLength] = [32, 128]

const formatGroupsMember = memoizeByObject(({ groups }: Principal) => {
  const names = [...groups].toSorted().slice(0, maxGroups)
  const omitted = groups.size - names.length
  return (
    memberToJson(
      'groups',
      names.map((name) => name.slice(0, maxGroupLength)),
    ) + memberToJson('groupsOmitted', omitted > 0 ? omitted : undefined)
  )
})
const formatRuleMembers = memoizeByObject(
  ({ policy, rule }: RuleReference) => memberToJson('policy', policy) + memberToJson('rule', rule),
)

const stageMemberNames = stages.map((stage, index) => `${index === 0 ? '' : ','}"${stage}":`)

/** Every request has reached the first stage. */
function formatStageDurations({ stageMs }: Trace): string {
  let text = ''
  for (let index = 0; index < stageMemberNames.length; index += 1) {
    const ms = stageMs[index] ?? NaN
    if (!Number.isNaN(ms)) text += `${stageMemberNames[index] ?? ''}${formatMilliseconds(ms)}`
  }
  return text
}

/** Texts of all durations under a millisecond, by microseconds. */
const millisecondTexts = Array.from({ length: 1000 }, (_, microseconds) => String(microseconds / 1000))

/** Rounds to microseconds. Formatting all digits of a number takes three times as long. */
function formatMilliseconds(duration: number): string {
  const microseconds = Math.round(duration * 1000)
  if (microseconds < 1000) return millisecondTexts[microseconds] ?? '0'
  const whole = Math.trunc(microseconds / 1000)
  return `${whole}${(millisecondTexts[microseconds - whole * 1000] ?? '').slice(1)}`
}
