import { idToJson, memberToJson } from '../../audit/index.ts'
import { type CatalogError, refusals } from '../../catalog-api/index.ts'
import { memoizeByObject } from '../../lib/index.ts'
import { describeCause } from '../error-response.ts'
import type { ObservedResponse } from '../downstream.ts'
import type { GatewayLog } from '../../observability/index.ts'
import { isFailureStatus } from '../changes/outcome.ts'
import type { Principal } from '../../identity/index.ts'
import { qualifiedRuleName, type RuleReference } from '../../policy/index.ts'
import { type RequestEnd, stages, type Trace } from '../trace.ts'

/** Writes the log line of a request, unless its level is off. */
export function writeRequestLogLine(
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
    `,"status":${status},"bytesIn":${response.bytesReceived},"bytesOut":${response.bytesSent}` +
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
