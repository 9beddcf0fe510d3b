import type { AuditLog, IntentReceipt } from '../../audit/log/audit-log.ts'
import { AuditUnavailable } from '../../audit/log/audit-unavailable.ts'
import type { OutcomeEntry } from '../../audit/records/audit-record.ts'
import type { TrackedChange } from './change-tracker.ts'

/** An intent that was passed to the audit log. */
export interface WrittenIntent {
  /** Resolved, unless the record is asynchronous. */
  readonly receipt: Promise<IntentReceipt>
  /** Whether the response waits until the outcome is written. */
  readonly awaitsOutcome: boolean
  readonly change: TrackedChange
}

/**
 * Writes the outcome of a change. A committed change succeeds even if its outcome cannot be written: an error would make
 * clients repeat it. The log retains the intent, shows that it has no outcome, and counts the failure.
 */
export async function recordOutcome(
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
