import type { AuditLog } from '../audit/log.ts'
import type { OutcomeEntry } from '../audit/records.ts'
import { AuditUnavailable } from '../audit/unavailable.ts'
import type { InterfaceError } from '../interface/errors.ts'
import { principalKey } from '../limits/selection.ts'
import { shedClassOf } from '../limits/shed-class.ts'
import { headersFor, type AnsweredFor } from './answered-for.ts'
import { scheduleAtTickEnd } from '../lib/async/schedule-at-tick-end.ts'
import type { OutgoingResponse } from '../http1/server/outgoing-response.ts'
import { callUpstream } from './upstream/call-upstream.ts'
import type { Client, UpstreamAnswer, UpstreamRequest } from './upstream/exchange.ts'
import { list, type ListingParts } from './listing/list.ts'
import { withoutReferences } from './hidden-references.ts'
import { outcomeOf, outcomeOfFailure } from './changes/outcome.ts'
import { errorAnswer } from './refuse.ts'
import type { Recorded, WrittenIntent } from './stages.ts'
import { requestHeadersFor } from './upstream/request-headers.ts'
import { credentialMembers, errorOf, withoutMembers } from './upstream/upstream-answer.ts'
import { answerToFailure } from './upstream/upstream-failure.ts'
import type { Pool } from './upstream/upstream.ts'

/**
 * The last stage: sends the request to the upstream and the answer to the client. The answer to a change is held
 * back until its outcome is in the audit log, so that a client never knows of a commit that the log does not. A
 * listing is put together from what upstreams answer. Resolves with the error that the upstream answered, if it did.
 * Throws InterfaceError (502, 503, 504, or what was wrong with the body), or ClientDisconnected.
 */
export async function forward(
  request: Recorded,
  response: OutgoingResponse,
  audit: AuditLog,
  listing: ListingParts,
): Promise<InterfaceError | undefined> {
  const startedAt = performance.now()
  const isRead = request.meaning.operation.effect === 'read'
  const client: Client = {
    response,
    headers: headersFor(answeredFor(request)),
    spans: listing.spans,
    endsWithClient: isRead,
    pool: poolOf(request),
    holder: principalKey(request.principal),
    // A change is recorded before it is answered; credentials that the caller may not have are taken out.
    holdsBack: !isRead || request.withholdsCredentials,
  }
  let answer: UpstreamAnswer
  let outgoing: UpstreamRequest | undefined
  try {
    const mayRepeat = isRead && request.payload.form !== 'stream'
    answer =
      request.meaning.operation.lists === undefined
        ? await callUpstream(request.upstream, (outgoing = toUpstream(request)), client, mayRepeat)
        : await list(request, response, listing)
  } catch (error) {
    const { intent } = request
    if (intent !== undefined) await recordOutcome(intent, audit, outcomeOfFailure(error, request, startedAt))
    throw answerToFailure(error)
  }
  const { intent } = request
  if (intent !== undefined) await recordOutcome(intent, audit, outcomeOf(answer, request, startedAt))
  if (answer.body === undefined) return undefined
  if (answer.status < 300) {
    send(answer, answer.body, request, response)
    return undefined
  }
  const error = errorOf(answer, request.upstream, outgoing?.headers ?? [])
  const { headers, body } = errorAnswer(
    withoutReferences(error, request, listing.policies),
    answeredFor(request),
  )
  response.writeHead(error.status, headers)
  scheduleAtTickEnd(() => response.end(body))
  return error
}

function poolOf({ meaning, payload }: Recorded): Pool {
  return payload.form === 'stream' || shedClassOf(meaning.operation.name) === 'bulk' ? 'bulk' : 'small'
}

function answeredFor({ requestId, allowedBy, database }: Recorded): AnsweredFor {
  return { requestId, policyRevision: allowedBy.revision, isLancedb: database !== undefined }
}

function toUpstream(request: Recorded): UpstreamRequest {
  const { payload, upstream } = request
  const headers = requestHeadersFor(upstream, request)
  if (request.restated !== undefined) headers.push(...request.restated.headers)
  if (request.upstreamContentType !== undefined) headers.push('content-type', request.upstreamContentType)
  if (payload.form === 'stream' && payload.length !== undefined) {
    headers.push('content-length', String(payload.length))
  }
  return {
    method: request.meaning.operation.method,
    path: request.upstreamTarget,
    headers,
    body: payload.form === 'bytes' ? payload.bytes : payload.form === 'stream' ? payload.body : null,
    // What is measured passes untouched.
    ownsBody: payload.form === 'stream' && payload.meter !== undefined,
  }
}

/**
 * A change that was made is answered as made even where its outcome cannot be written: an error would make clients
 * do it again. The log keeps the intent, and shows that it has no outcome; the failure is counted.
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

function send(answer: UpstreamAnswer, held: Buffer, request: Recorded, response: OutgoingResponse): void {
  const { status } = answer
  const body = withoutWithheld(held, request)
  const headers = answer.headers.filter(
    (_, index) => answer.headers[index - (index % 2)] !== 'content-length',
  )
  response.writeHead(status, [...headers, 'content-length', String(body.length)])
  scheduleAtTickEnd(() => response.end(body))
}

/** The response without what the caller may not see. */
function withoutWithheld(body: Buffer, request: Recorded): Buffer {
  const { operation } = request.meaning
  const hidden = [
    ...(request.withholdsCredentials ? credentialMembers : []),
    ...(request.withholdsDescription ? operation.describes : []),
  ]
  if (hidden.length === 0) return body
  // The map is the whole response.
  if (operation.body === 'map') return Buffer.from('{}')
  return withoutMembers(body, new Set(hidden))
}
