import type { OutcomeEntry } from '../../audit/index.ts'
import { createFailureOutcome, createOutcome, toUnknownOutcome } from '../changes/outcome.ts'
import { advance } from '../context.ts'
import { toDownstreamError } from '../upstream/upstream-error.ts'
import type { Audited, AuditOptions } from './audit.ts'
import type { Sent } from './send.ts'

/** A request that may be responded to: the outcome of a change is in the audit log, if its operation is audited. */
export interface Recorded extends Sent {
  readonly outcome: OutcomeEntry | undefined
}

/**
 * Stage 11: writes the outcome of a change, so that a client never knows of a commit that the log does not. `sentAt` is on
 * the clock of performance.now().
 */
export async function record(
  request: Sent,
  sentAt: number,
  { changeTracker }: AuditOptions,
): Promise<Recorded> {
  const { intent, upstreamResponse } = request
  if (intent === undefined) return advance(request, { outcome: undefined })
  const outcome = await createOutcome(upstreamResponse, request, sentAt)
  await changeTracker.recordOutcome(intent, outcome)
  return advance(request, { outcome })
}

/**
 * Writes the outcome of a change that got no response. Always rejects: with the error for the client, which is CatalogError (502, 503
 * or 504 if it was certainly not done, 424 if it may have been, or an error of the body) or ClientDisconnected.
 */
export async function recordFailure(
  request: Audited,
  error: unknown,
  sentAt: number,
  { changeTracker }: AuditOptions,
): Promise<never> {
  const outcome = createFailureOutcome(error, request, sentAt)
  if (request.intent !== undefined) await changeTracker.recordOutcome(request.intent, outcome)
  const shown = toDownstreamError(error)
  throw outcome.result === 'unknown' ? toUnknownOutcome(shown, request) : shown
}
