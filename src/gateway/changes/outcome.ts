import { type OutcomeEntry, truncateDetail } from '../../audit/index.ts'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { uploadIdName, type Operation } from '../../catalog-api/operations.ts'
import { AttemptFailed, type UpstreamResponse } from '../upstream/upstream-attempt.ts'
import { readCreatedVersions } from './created-versions.ts'
import type { Payload } from '../body/checked-body.ts'
import type { Matched } from '../context.ts'
import { getMember } from '../facts/stated-facts.ts'
import type { WrittenIntent } from './change-tracker.ts'
import { parseJsonBytes } from '../../lib/json/json-values.ts'
import { getFailureReason } from '../upstream/attempt-failure.ts'
import { isErrorResponse } from '../../catalog-api/responses/read-error-response.ts'

/** A change that was sent to the upstream. */
interface SentChange extends Matched {
  readonly payload: Payload
  readonly intent: WrittenIntent | undefined
}

/** Creates the outcome of a change with a response. */
export function createOutcome(
  response: UpstreamResponse,
  request: SentChange,
  startedAt: number,
): OutcomeEntry {
  const { status } = response
  const body = parseResponse(response)
  const entry = request.intent?.entry
  const versions = entry === undefined ? [] : readCreatedVersions(entry, body)
  // The versions of a batch belong to several tables.
  const { operation } = request.route
  const version = operation.object === 'none' ? undefined : versions[0]?.version
  const uploadId = operation.multipart === 'begins' ? getMember(body, uploadIdName) : undefined
  return {
    result: getResult(status, operation),
    status,
    version,
    versions: versions.length > 0 ? versions : undefined,
    upload: getUploadFacts(request),
    durationMs: elapsedMs(startedAt),
    details: typeof uploadId === 'string' ? { [uploadIdName]: truncateDetail(uploadId) } : undefined,
  }
}

function getResult(status: number, { effect }: Operation): OutcomeEntry['result'] {
  // Not modified: what was read is unchanged.
  if (status < 300 || (status === 304 && effect === 'read')) return 'committed'
  // Not implemented: the upstream has not even tried.
  return status < 500 || status === 501 ? 'rejected' : 'unknown'
}

/** Creates the outcome of a change without a response. */
export function createFailureOutcome(error: unknown, request: SentChange, startedAt: number): OutcomeEntry {
  return {
    result: isUnchanged(error, request) ? 'failed' : 'unknown',
    upload: getUploadFacts(request),
    durationMs: elapsedMs(startedAt),
    details: { reason: getFailureReason(error) },
  }
}

/** Of the errors that LanceDB's clients do not repeat (they do 409, 429, 500, 502, 503 and 504), the nearest in meaning. */
const unknownOutcomeStatus = 424

/** Whether a response with this status is one that the catalog or the gateway owed: it counts in spans and alerts. */
export function isFailureStatus(status: number): boolean {
  return status >= 500 || status === unknownOutcomeStatus
}

/** Whether the response leaves open what was done: an error that the catalog itself has not stated. */
export function leavesOpen(
  { status, body }: UpstreamResponse,
  { route: { operation } }: SentChange,
): boolean {
  return getResult(status, operation) === 'unknown' && !isErrorResponse(body)
}

/**
 * The error for a change that may have been done: with its reason, and a status that no client takes for an invitation
 * to send the change again. 502, 503 and 504 are for what was certainly not done. The error of a read, one of the client (4xx), and what
 * is no CatalogError are returned unchanged.
 */
export function toUnknownOutcome<Failure>(
  error: Failure,
  { route: { operation } }: Matched,
): Failure | CatalogError {
  if (operation.effect === 'read' || !(error instanceof CatalogError) || error.status < 500) return error
  const { message, reason, cause } = error
  const { 'retry-after': _, ...headers } = error.headers
  return new CatalogError(
    'Internal',
    `${message}; the change may have been done: look before sending it again`,
    {
      reason,
      status: unknownOutcomeStatus,
      headers,
      cause,
    },
  )
}

/**
 * A request of which nothing was sent changes nothing. Neither does a JSON body that was aborted by a check: the last byte
 * of the JSON is sent after all checks. An Arrow stream marks its own end, so a catalog may have accepted it as complete
 * before the request was.
 */
function isUnchanged(error: unknown, { route }: SentChange): boolean {
  if (!(error instanceof AttemptFailed) || error.progress === 'unsent') return true
  return error.cause instanceof CatalogError && route.operation.body !== 'arrow'
}

function elapsedMs(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 100) / 100
}

/** Parses the success response to a change; undefined if it is not JSON. */
function parseResponse({ status, body }: UpstreamResponse): unknown {
  return status >= 300 || body === undefined || body.length === 0 ? undefined : parseJsonBytes(body)
}

function getUploadFacts({ payload }: SentChange): OutcomeEntry['upload'] {
  return payload.form === 'none' ? undefined : payload.meter?.getFacts()
}
