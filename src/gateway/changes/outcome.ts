import type { OutcomeEntry } from '../../audit/records/audit-record.ts'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { AttemptFailed, type UpstreamResponse } from '../upstream/upstream-attempt.ts'
import { readCreatedVersions } from './created-versions.ts'
import type { Payload } from '../body/payload.ts'
import type { Matched } from '../context.ts'
import type { TrackedChange } from './change-tracker.ts'
import { getFailureReason } from '../upstream/attempt-failure.ts'

/** A change that was sent to the upstream. */
interface SentChange extends Matched {
  readonly payload: Payload
  readonly intent: { readonly change: TrackedChange } | undefined
}

/** Creates the outcome of a change with a response. */
export function createOutcome(
  response: UpstreamResponse,
  request: SentChange,
  startedAt: number,
): OutcomeEntry {
  const { status } = response
  const entry = request.intent?.change.entry
  const versions = entry === undefined ? [] : readCreatedVersions(entry, parseResponse(response))
  // The versions of a batch belong to several tables.
  const version = request.route.operation.object === 'none' ? undefined : versions[0]?.version
  return {
    result: status < 300 ? 'committed' : status < 500 ? 'rejected' : 'unknown',
    status,
    version,
    versions: versions.length > 0 ? versions : undefined,
    upload: getUploadFacts(request),
    durationMs: elapsedMs(startedAt),
  }
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

/**
 * A request of which nothing was sent changes nothing. Neither does a JSON body that was aborted by a check: truncated
 * JSON is invalid. An Arrow stream marks its own end, so a catalog may have accepted it as complete before the request
 * was.
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
  if (status >= 300 || body === undefined || body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function getUploadFacts({ payload }: SentChange): OutcomeEntry['upload'] {
  return payload.form === 'none' ? undefined : payload.meter?.getFacts()
}
