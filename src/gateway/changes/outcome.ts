import type { OutcomeEntry } from '../../audit/records/audit-record.ts'
import { CatalogError } from '../../catalog-api/catalog-error.ts'
import { AttemptFailed, type UpstreamResponse } from '../upstream/upstream-attempt.ts'
import { readCreatedVersions } from './created-versions.ts'
import type { Payload } from '../body/payload.ts'
import type { Matched } from '../context.ts'
import type { TrackedChange } from './change-tracker.ts'
import { getFailureReason } from '../upstream/attempt-failure.ts'

/** A change that was sent upstream. */
interface SentChange extends Matched {
  readonly payload: Payload
  readonly intent: { readonly change: TrackedChange } | undefined
}

/** What became of a change that the upstream answered. */
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

/** What became of a change that was not answered. */
export function createFailureOutcome(error: unknown, request: SentChange, startedAt: number): OutcomeEntry {
  return {
    result: isUnchanged(error, request) ? 'failed' : 'unknown',
    upload: getUploadFacts(request),
    durationMs: elapsedMs(startedAt),
    details: { reason: getFailureReason(error) },
  }
}

/**
 * A request of which nothing was sent changes nothing, and neither does a JSON body that was broken off for what was
 * found in it: without its end it is no JSON. An Arrow stream says inside where it ends, so that a catalog may have
 * taken it for whole before the request was.
 */
function isUnchanged(error: unknown, { route }: SentChange): boolean {
  if (!(error instanceof AttemptFailed) || error.progress === 'unsent') return true
  return error.cause instanceof CatalogError && route.operation.body !== 'arrow'
}

function elapsedMs(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 100) / 100
}

/** The answer of success to a change; undefined where it is no JSON. */
function parseResponse({ status, body }: UpstreamResponse): unknown {
  if (status >= 300 || body === undefined || body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function getUploadFacts({ payload }: SentChange): OutcomeEntry['upload'] {
  return payload.form === 'stream' ? payload.meter?.getFacts() : undefined
}
