import type { AuditLog } from '../../audit/log/audit-log.ts'
import type { OutcomeEntry } from '../../audit/records/audit-record.ts'
import { createFailureOutcome, createOutcome, parseResponse } from '../changes/outcome.ts'
import { recordOutcome } from '../changes/written-intent.ts'
import { advance } from '../context.ts'
import { toDownstreamError } from '../upstream/attempt-failure.ts'
import { readManagedVersions } from '../upstream/managed-versions.ts'
import type { Audited } from './audit.ts'
import type { Sent } from './send.ts'

/** A request that may be responded to: the outcome of a change is in the audit log, if its operation is audited. */
export interface Recorded extends Sent {
  readonly outcome: OutcomeEntry | undefined
}

export interface RecordOptions {
  readonly auditLog: AuditLog
}

/**
 * Stage 12: writes the outcome of a change, so that a client never knows of a commit that the log does not. Notes whether
 * the upstream manages the versions of its tables: if it does not, clients commit past the gateway. `sentAt` is on the clock of
 * performance.now().
 */
export async function record(request: Sent, sentAt: number, { auditLog }: RecordOptions): Promise<Recorded> {
  const { route, intent, upstream, upstreamResponse } = request
  const { statesManagedVersions } = route.operation
  if (intent === undefined && !statesManagedVersions) return advance(request, { outcome: undefined })
  const body = parseResponse(upstreamResponse)
  const managedVersions = statesManagedVersions ? readManagedVersions(body) : 'unknown'
  if (managedVersions !== 'unknown') upstream.managedVersions = managedVersions
  if (intent === undefined) return advance(request, { outcome: undefined })
  const outcome = createOutcome({ status: upstreamResponse.status, body, managedVersions }, request, sentAt)
  await recordOutcome(intent, auditLog, outcome)
  return advance(request, { outcome })
}

/**
 * Writes the outcome of a change that got no response. Always rejects: with the error for the client, which is CatalogError (502, 503,
 * 504, or an error of the body) or ClientDisconnected.
 */
export async function recordFailure(
  request: Audited,
  error: unknown,
  sentAt: number,
  { auditLog }: RecordOptions,
): Promise<never> {
  if (request.intent !== undefined) {
    await recordOutcome(request.intent, auditLog, createFailureOutcome(error, request, sentAt))
  }
  throw toDownstreamError(error)
}
