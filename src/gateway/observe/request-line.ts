import { idText, member, writtenOnce } from '../../audit/json-text.ts'
import type { InterfaceError } from '../../interface/errors.ts'
import { ForeignError } from '../../interface/foreign-text.ts'
import type { OutgoingResponse } from '../../http1/server/outgoing-response.ts'
import { takeConnectionBytes } from '../../http1/server/connection-bytes.ts'
import type { RequestEnd } from './request-end.ts'
import type { Principal } from '../../identity/principal.ts'
import type { RuleReference } from '../../policy/decision.ts'
import { stages, type Trace } from '../trace.ts'

/**
 * The line of a request in the log, in the words of the design, as the text of JSON members, each with the comma before
 * it. It holds no header, no query and no body: what of them a message quotes is their structure, never a value that
 * could be a secret. Whoever counts lines counts each as one divided by its sample rate.
 */
export function requestLine(
  trace: Trace,
  response: OutgoingResponse,
  end: RequestEnd,
  sampleRate: number | undefined,
): string {
  const { operation, status, decision, refusal, endedAt } = end
  const { upstream, spans } = trace
  const { route, principal, allowedBy } = trace.progress
  const decided = allowedBy ?? trace.denial
  const { bytesIn, bytesOut } = takeConnectionBytes(response.request.socket)
  return (
    member('requestId', trace.requestId) +
    member('traceId', spans?.traceId) +
    member('client', trace.client) +
    (principal === undefined ? '' : principalMembers(principal)) +
    `,"operation":"${operation}"` +
    (route === undefined ? '' : `,"id":${idText(route.id)}`) +
    `,"decision":"${decision}"` +
    (decided?.rule === undefined ? '' : ruleMembers(decided.rule)) +
    member('policyRevision', decided?.revision) +
    member('upstream', upstream) +
    `,"status":${status},"bytesIn":${bytesIn},"bytesOut":${bytesOut}` +
    `,"durationMs":${milliseconds(endedAt - trace.startedAt)},"stageMs":{${stageDurations(trace)}}` +
    `,"complete":${response.isComplete}` +
    (refusal === undefined
      ? ''
      : member('stage', trace.stage) + member('reason', refusal.reason) + errorMembers(refusal)) +
    (trace.upstreamError === undefined ? '' : errorMembers(trace.upstreamError)) +
    member('sampleRate', sampleRate)
  )
}

function errorMembers(error: InterfaceError): string {
  return member('error', error.message) + member('cause', causeOf(error))
}

const principalMembers = writtenOnce(
  ({ name, method }: Principal) => member('principal', name) + member('authentication', method),
)
const ruleMembers = writtenOnce(
  ({ policy, rule }: RuleReference) => member('policy', policy) + member('rule', rule),
)

const stageNames = stages.map((stage, place) => `${place === 0 ? '' : ','}"${stage}":`)

/** Every request has come to the first stage. */
function stageDurations({ stageMs }: Trace): string {
  let text = ''
  for (let place = 0; place < stageNames.length; place += 1) {
    const ms = stageMs[place] ?? NaN
    if (!Number.isNaN(ms)) text += `${stageNames[place] ?? ''}${milliseconds(ms)}`
  }
  return text
}

/** Of all durations under a millisecond, by their microseconds. */
const texts = Array.from({ length: 1000 }, (_, microseconds) => String(microseconds / 1000))

/** To the microsecond, and without the way of all digits of a number, which takes three times as long. */
function milliseconds(duration: number): string {
  const microseconds = Math.round(duration * 1000)
  if (microseconds < 1000) return texts[microseconds] ?? '0'
  const whole = Math.trunc(microseconds / 1000)
  return `${whole}${(texts[microseconds - whole * 1000] ?? '').slice(1)}`
}

/** Of a failure that is ours, where it happened. What is said of broken JSON quotes it, secrets included. */
function causeOf({ kind, cause }: InterfaceError): string | undefined {
  if (!(cause instanceof Error)) return undefined
  if (cause instanceof SyntaxError) return cause.name
  if (cause instanceof ForeignError) return cause.message
  return kind === 'Internal' ? cause.stack : String(cause)
}
