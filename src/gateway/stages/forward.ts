import type { AuditLog } from '../../audit/log.ts'
import type { OutcomeEntry } from '../../audit/records.ts'
import { AuditUnavailable } from '../../audit/unavailable.ts'
import type { InterfaceError } from '../../interface/errors.ts'
import { principalKey } from '../../limits/selection.ts'
import { shedClassOf } from '../../limits/shed-class.ts'
import type { RequestSpans } from '../../telemetry/request-spans.ts'
import { headersFor, type AnsweredFor } from '../answered-for.ts'
import { outcomeOf, outcomeOfFailure } from '../changes/outcome.ts'
import type { DownstreamBody, DownstreamResponse } from '../downstream.ts'
import { scheduleAtTickEnd } from '../../lib/async/schedule-at-tick-end.ts'
import { withoutReferences } from '../hidden-references.ts'
import { list } from '../listing/list.ts'
import type { PageTokens } from '../listing/page-token.ts'
import { errorAnswer } from '../refuse.ts'
import { assertReachable, callUpstream } from '../upstream/call-upstream.ts'
import type { Client, UpstreamAnswer, UpstreamRequest } from '../upstream/exchange.ts'
import { requestHeadersFor } from '../upstream/request-headers.ts'
import { credentialMembers, errorOf, withoutMembers } from '../upstream/upstream-answer.ts'
import { answerToFailure } from '../upstream/upstream-failure.ts'
import type { Pool } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Audited, WrittenIntent } from './audit.ts'
import type { Checked } from './check.ts'

/** Used by `forward`. */
export interface ForwardOptions {
  readonly auditLog: AuditLog
  readonly upstreams: Upstreams
  readonly pageTokens: PageTokens
}

/**
 * Before an audit record is written: refuses what cannot be forwarded now, and waits for the beginning of a body that
 * streams, so that a client that sends none holds no connection to the upstream. Throws ServiceUnavailable (503), or
 * what reading the body fails with.
 */
export async function prepareForward({ upstream, payload }: Checked, body: DownstreamBody): Promise<void> {
  assertReachable(upstream)
  if (payload.form === 'stream') await body.started()
}

/**
 * Stage 8: sends the request upstream and the response downstream. The response to a change is held back until its
 * outcome is in the audit log, so a client never knows of a commit that the log does not. A listing is merged from all
 * upstreams that have a part in it. Resolves with the error that the upstream responded with, if it did. Throws
 * InterfaceError (502, 503, 504, or what was wrong with the body), or ClientDisconnected.
 */
export async function forward(
  request: Audited,
  response: DownstreamResponse,
  { auditLog, upstreams, pageTokens }: ForwardOptions,
  spans: RequestSpans | undefined,
): Promise<InterfaceError | undefined> {
  const startedAt = performance.now()
  const { route, payload, intent, permit } = request
  const isRead = route.operation.effect === 'read'
  const client: Client = {
    response,
    headers: headersFor(answeredFor(request)),
    spans,
    endsWithClient: isRead,
    pool: poolOf(request),
    holder: principalKey(request.principal),
    holdsBack: !isRead || permit.withholdsCredentials,
  }
  let answer: UpstreamAnswer
  let outgoing: UpstreamRequest | undefined
  try {
    const mayRepeat = isRead && payload.form !== 'stream'
    answer =
      route.operation.lists === undefined
        ? await callUpstream(request.upstream, (outgoing = toUpstream(request)), client, mayRepeat)
        : await list(request, response, { upstreams, pageTokens, spans })
  } catch (error) {
    if (intent !== undefined) {
      await recordOutcome(intent, auditLog, outcomeOfFailure(error, request, startedAt))
    }
    throw answerToFailure(error)
  }
  if (intent !== undefined) await recordOutcome(intent, auditLog, outcomeOf(answer, request, startedAt))
  if (answer.body === undefined) return undefined
  if (answer.status < 300) {
    send(answer, answer.body, request, response)
    return undefined
  }
  const error = errorOf(answer, request.upstream, outgoing?.headers ?? [])
  const { headers, body } = errorAnswer(withoutReferences(error, request), answeredFor(request))
  response.writeHead(error.status, headers)
  scheduleAtTickEnd(() => response.end(body))
  return error
}

function poolOf({ route, payload }: Audited): Pool {
  return payload.form === 'stream' || shedClassOf(route.operation.name) === 'bulk' ? 'bulk' : 'small'
}

function answeredFor({ head, allowedBy }: Audited): AnsweredFor {
  return {
    requestId: head.requestId,
    policyRevision: allowedBy.revision,
    isLancedb: head.database !== undefined,
  }
}

function toUpstream(request: Audited): UpstreamRequest {
  const { payload, payloadType, upstream } = request
  const headers = requestHeadersFor(upstream, request)
  headers.push(...request.restatedHeaders)
  if (payloadType !== undefined) headers.push('content-type', payloadType)
  if (payload.form === 'stream' && payload.length !== undefined) {
    headers.push('content-length', String(payload.length))
  }
  return {
    method: request.route.operation.method,
    path: request.upstreamTarget,
    headers,
    body: payload.form === 'bytes' ? payload.bytes : payload.form === 'stream' ? payload.body : null,
    // Arrow bodies pass unchanged.
    ownsBody: payload.form === 'stream' && payload.meter !== undefined,
  }
}

/**
 * A change that was made succeeds even if its outcome cannot be written: an error would make clients repeat it. The log
 * retains the intent, shows that it has no outcome, and counts the failure.
 */
async function recordOutcome(intent: WrittenIntent, audit: AuditLog, outcome: OutcomeEntry): Promise<void> {
  const { awaitsOutcome, change } = intent
  const written = change.lacksVersion(outcome)
    ? change.addVersion(outcome).then((versioned) => endChange(intent, audit, versioned))
    : endChange(intent, audit, outcome)
  if (awaitsOutcome) await written
  else written.catch(() => undefined)
}

function endChange(
  { receipt, awaitsOutcome, change }: WrittenIntent,
  audit: AuditLog,
  outcome: OutcomeEntry,
): Promise<void> {
  const complete = change.end(outcome)
  if (complete.result === 'unknown') change.ask(receipt)
  return receipt
    .then((intent) => audit.outcome(intent, complete, awaitsOutcome))
    .catch((error: unknown) => {
      if (!(error instanceof AuditUnavailable)) throw error
    })
}

function send(answer: UpstreamAnswer, held: Buffer, request: Audited, response: DownstreamResponse): void {
  const { status } = answer
  const body = withoutWithheld(held, request)
  const headers = answer.headers.filter(
    (_, index) => answer.headers[index - (index % 2)] !== 'content-length',
  )
  response.writeHead(status, [...headers, 'content-length', String(body.length)])
  scheduleAtTickEnd(() => response.end(body))
}

/** Removes what the caller may not see. */
function withoutWithheld(body: Buffer, request: Audited): Buffer {
  const { operation } = request.route
  const hidden = [
    ...(request.permit.withholdsCredentials ? credentialMembers : []),
    ...(request.permit.withholdsDescription ? operation.describes : []),
  ]
  if (hidden.length === 0) return body
  // The map is the whole response.
  if (operation.body === 'map') return Buffer.from('{}')
  return withoutMembers(body, new Set(hidden))
}
