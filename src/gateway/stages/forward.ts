import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { OutcomeEntry } from '../../audit/records/audit-record.ts'
import { AuditUnavailable } from '../../audit/log/audit-unavailable.ts'
import { isExtraOperation } from '../../catalog-api/extra-operation.ts'
import { isOperationName } from '../../catalog-api/operations.ts'
import type { CatalogError } from '../../catalog-api/catalog-error.ts'
import { getPrincipalKey } from '../../limits/limit-key.ts'
import { getShedClass } from '../../limits/overload/shed-class.ts'
import type { RequestSpans } from '../../observability/traces/request-spans.ts'
import { gatewayHeaders, type ResponseContext } from '../gateway-headers.ts'
import { createOutcome, createFailureOutcome } from '../changes/outcome.ts'
import type { DownstreamBody, DownstreamResponse } from '../downstream.ts'
import { scheduleAtTickEnd } from '../../lib/async/schedule-at-tick-end.ts'
import { hideReferences } from '../authorization/hide-references.ts'
import { createListingResponse } from '../listing/listing-response.ts'
import type { StartedJobs } from '../facts/started-jobs.ts'
import type { ListingObserver } from '../listing/listing-observer.ts'
import type { PageTokens } from '../listing/page-tokens.ts'
import { formatErrorResponse } from '../error-response.ts'
import { assertCircuitClosed, callUpstream } from '../upstream/call-upstream.ts'
import type { UpstreamCallOptions, UpstreamResponse, UpstreamRequest } from '../upstream/upstream-attempt.ts'
import { createRequestHeaders } from '../upstream/request-headers.ts'
import { replaceJobId } from '../upstream/replace-job-id.ts'
import { removeMembers } from '../upstream/remove-members.ts'
import { createUpstreamError } from '../upstream/upstream-error.ts'
import { withholdCredentials } from '../upstream/withhold-credentials.ts'
import { toDownstreamError } from '../upstream/attempt-failure.ts'
import type { PoolName } from '../upstream/connection-slots.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Audited, WrittenIntent } from './audit.ts'
import type { Checked } from './check.ts'

export interface ForwardOptions {
  readonly auditLog: AuditLog
  readonly upstreams: Upstreams
  readonly pageTokens: PageTokens
  readonly startedJobs: StartedJobs
  readonly listingObserver: ListingObserver
}

/**
 * Called before the intent is written: refuses a request that cannot be forwarded now, and waits for the beginning of a
 * streamed body, so that a client that sends none holds no connection to the upstream. Throws ServiceUnavailable (503),
 * or the error of reading the body.
 */
export async function prepareForwarding(
  { route, upstream, payload }: Checked,
  body: DownstreamBody,
): Promise<void> {
  // A listing of all tables does without upstreams that are unavailable.
  if (route.operation.lists !== 'all tables') assertCircuitClosed(upstream)
  if (payload.form === 'stream') await body.started()
}

/**
 * Stage 8: sends the request upstream and the response downstream. The response to a change is held back until its
 * outcome is in the audit log, so a client never knows of a commit that the log does not. A listing is merged from all
 * upstreams that have a part in it. Resolves with the upstream's error, if it responded with one. Throws CatalogError
 * (502, 503, 504, or an error of the body), or ClientDisconnected.
 */
export async function forward(
  request: Audited,
  response: DownstreamResponse,
  { auditLog, upstreams, pageTokens, startedJobs, listingObserver }: ForwardOptions,
  spans: RequestSpans | undefined,
): Promise<CatalogError | undefined> {
  const startedAt = performance.now()
  const { route, payload, intent, permit } = request
  const isRead = route.operation.effect === 'read'
  const options: UpstreamCallOptions = {
    response,
    addedHeaders: gatewayHeaders(responseContext(request)),
    spans,
    abortsWithClient: isRead,
    pool: choosePool(request),
    holder: getPrincipalKey(request.principal),
    buffersResponse: !isRead || permit.withholdsCredentials || returnsJobId(request),
  }
  let upstreamResponse: UpstreamResponse
  let outgoing: UpstreamRequest | undefined
  try {
    const mayRetry = isRead && payload.form !== 'stream'
    upstreamResponse =
      route.operation.lists === undefined
        ? await callUpstream(request.upstream, (outgoing = createUpstreamRequest(request)), options, mayRetry)
        : await createListingResponse(request, response, { upstreams, pageTokens, listingObserver, spans })
  } catch (error) {
    if (intent !== undefined) {
      await recordOutcome(intent, auditLog, createFailureOutcome(error, request, startedAt))
    }
    throw toDownstreamError(error)
  }
  if (intent !== undefined)
    await recordOutcome(intent, auditLog, createOutcome(upstreamResponse, request, startedAt))
  // A streamed response has been written already.
  if (upstreamResponse.body === undefined) return undefined
  if (upstreamResponse.status < 300) {
    const body = removeWithheldMembers(upstreamResponse.body, request)
    sendHeldResponse(upstreamResponse, restateJobId(body, request, startedJobs), response)
    return undefined
  }
  const error = createUpstreamError(upstreamResponse, request.upstream, outgoing?.headers ?? [])
  const { headers, body } = formatErrorResponse(hideReferences(error, request), responseContext(request))
  response.abandonBody(true)
  response.writeHead(error.status, headers)
  scheduleAtTickEnd(() => response.end(body))
  return error
}

function choosePool({ route, payload }: Audited): PoolName {
  return payload.form === 'stream' || getShedClass(route.operation) === 'bulk' ? 'bulk' : 'small'
}

function responseContext({ head, allowedBy }: Audited): ResponseContext {
  return {
    requestId: head.requestId,
    policyRevision: allowedBy.revision,
    isLancedb: head.database !== undefined,
  }
}

function createUpstreamRequest(request: Audited): UpstreamRequest {
  const { payload, payloadType, upstream } = request
  const headers = createRequestHeaders(upstream, request, request.restatedHeaders)
  if (payloadType !== undefined) headers.push('content-type', payloadType)
  if (payload.form === 'stream' && payload.length !== undefined) {
    headers.push('content-length', String(payload.length))
  }
  return {
    method: request.route.operation.method,
    path: request.upstreamTarget,
    headers,
    body: payload.form === 'bytes' ? payload.bytes : payload.form === 'stream' ? payload.body : null,
  }
}

/**
 * A committed change succeeds even if its outcome cannot be written: an error would make clients repeat it. The log
 * retains the intent, shows that it has no outcome, and counts the failure.
 */
async function recordOutcome(
  intent: WrittenIntent,
  auditLog: AuditLog,
  outcome: OutcomeEntry,
): Promise<void> {
  const { awaitsOutcome, change } = intent
  const written = change.lacksVersion(outcome)
    ? change.addVersion(outcome).then((versioned) => writeOutcome(intent, auditLog, versioned))
    : writeOutcome(intent, auditLog, outcome)
  if (awaitsOutcome) await written
  else written.catch(() => undefined)
}

function writeOutcome(
  { receipt, awaitsOutcome, change }: WrittenIntent,
  auditLog: AuditLog,
  outcome: OutcomeEntry,
): Promise<void> {
  const complete = change.complete(outcome)
  if (complete.result === 'unknown') change.resolveLater(receipt)
  return receipt
    .then((recorded) => auditLog.recordOutcome(recorded, complete, awaitsOutcome))
    .catch((error: unknown) => {
      if (!(error instanceof AuditUnavailable)) throw error
    })
}

function sendHeldResponse(
  upstreamResponse: UpstreamResponse,
  body: Buffer,
  response: DownstreamResponse,
): void {
  const { status } = upstreamResponse
  const headers = upstreamResponse.headers.filter(
    (_, index) => upstreamResponse.headers[index - (index % 2)] !== 'content-length',
  )
  response.writeHead(status, [...headers, 'content-length', String(body.length)])
  scheduleAtTickEnd(() => response.end(body))
}

/** Whether the response may contain the upstream's id of a job that the caller knows by a sealed one. */
function returnsJobId({ job, route }: Audited): boolean {
  return job !== undefined && route.operation.response === 'json'
}

/** A caller sees one id of a job: the one that it sent, or that of the response to the request which started the job. */
function restateJobId(body: Buffer, request: Audited, jobs: StartedJobs): Buffer {
  const { job } = request
  if (job === undefined) return sealJobId(body, request, jobs)
  return replaceJobId(body, (jobId) => (jobId === job.jobId ? job.sealedId : jobId))
}

/**
 * Replaces the id of a job that the request started, so that its caller can follow the job. Jobs of operations with
 * facts besides the branch keep theirs: the permission to start them again depends on more than a sealed id contains.
 */
function sealJobId(body: Buffer, { route, permit, principal, upstream }: Audited, jobs: StartedJobs): Buffer {
  const { operation, id } = route
  const { name } = operation
  const startsJobs =
    operation.effect !== 'read' &&
    operation.object !== 'none' &&
    operation.body !== 'map' &&
    operation.facts.every(([fact]) => fact === 'branch')
  if (!startsJobs || !isOperationName(name)) return body
  return replaceJobId(body, (jobId) =>
    jobs.seal(
      { jobId, upstream: upstream.name, operation: name, id, branch: permit.stated.branch },
      principal,
    ),
  )
}

function removeWithheldMembers(body: Buffer, { route, permit }: Audited): Buffer {
  const { operation } = route
  const { withholdsCredentials, withholdsDescription } = permit
  const hidden = new Set<string>(withholdsDescription ? operation.describes : [])
  if (!withholdsCredentials && hidden.size === 0) return body
  // Nothing says that the response of an extra operation has a body.
  if (body.length === 0 && isExtraOperation(operation)) return body
  // The map is the whole response.
  if (operation.body === 'map') return Buffer.from('{}')
  // Storage options without credentials only describe.
  if (withholdsCredentials && withholdsDescription) hidden.add('storage_options')
  const described = hidden.size === 0 ? body : removeMembers(body, hidden)
  return withholdsCredentials ? withholdCredentials(described) : described
}
