import { factsFormat } from '../../audit/fact-details.ts'
import type { AuditLog, IntentReceipt } from '../../audit/log.ts'
import type { AuditedObject, IntentEntry } from '../../audit/records.ts'
import { refusal } from '../../interface/errors.ts'
import type { ChangeTracking, TrackedChange } from '../changes/change-tracking.ts'
import { isOperationName, operationNamed } from '../../interface/operations.ts'
import { entryDetails } from '../changes/commit-details.ts'
import { furtherNeeds, type PermissionNeed } from '../needs.ts'
import type { Checked } from './check.ts'

/** A request that may be forwarded: the intent of a change is in the audit log, as its class is audited. */
export interface Audited extends Checked {
  /** Undefined for operations that are not audited: reads, unless the settings say otherwise. */
  readonly intent: WrittenIntent | undefined
}

/** An intent that was given to the audit log. */
export interface WrittenIntent {
  /** Resolved, unless the record is asynchronous. */
  readonly receipt: Promise<IntentReceipt>
  /** Whether the response waits until the outcome is written. */
  readonly awaitsOutcome: boolean
  readonly change: TrackedChange
}

/** Used by `audit`. */
export interface AuditOptions {
  readonly auditLog: AuditLog
  readonly tracking: ChangeTracking
}

/** A disk that hangs must not hold changes for ever. */
const writeTimeoutMs = 10_000

/**
 * Stage 7: writes the intent of a change. It is on disk before the first byte goes upstream, unless the settings audit
 * its operation otherwise (audit/modes.ts). Throws ServiceUnavailable (503) if the log cannot be written in time, and
 * InvalidInput (413) for a batch that is too large for one record.
 */
export async function audit(request: Checked, { auditLog, tracking }: AuditOptions): Promise<Audited> {
  const mode = auditLog.modeOf(request.route.operation.name)
  if (mode === 'off') return { ...request, intent: undefined }
  const change = tracking.begin(intentOf(request, auditLog, tracking))
  if (mode === 'besteffort') {
    const receipt = auditLog.intent(change.entry, false)
    // The log counts the failure, and the outcome meets it again.
    receipt.catch(() => undefined)
    return { ...request, intent: { receipt, awaitsOutcome: false, change } }
  }
  try {
    const receipt = Promise.resolve(await writeIntent(auditLog, change.entry))
    return { ...request, intent: { receipt, awaitsOutcome: mode === 'strict', change } }
  } catch (error) {
    change.end({ result: 'failed', durationMs: 0 })
    throw error
  }
}

/** In characters of JSON: all callers share the log. */
const maximumObjects = 1024 * 1024

/** Throws InvalidInput (413) if the objects of a batch do not fit into one record. */
function assertRecordable(objects: readonly AuditedObject[]): void {
  if (objects.length < 2 || JSON.stringify(objects).length <= maximumObjects) return
  throw refusal(
    'batch_too_large',
    'the batch says more of its entries than the audit log takes at once; send it in parts',
  )
}

function intentOf(request: Checked, { contextKeys }: AuditLog, tracking: ChangeTracking): IntentEntry {
  const { head, permit, details } = request
  const { operation, id } = request.route
  const further = furtherNeeds(permit.decided)
  const isCommit = operation.effect === 'commit'
  const { rule, revision } = request.allowedBy
  const objects = further.map((need) => objectOf(need, isCommit, tracking))
  assertRecordable(objects)
  return {
    request: head.requestId,
    operation: operation.name,
    id,
    objects: objects.length > 0 ? objects : undefined,
    effect: operation.effect,
    principal: request.principal,
    rule,
    policyRevision: revision,
    client: head.client,
    context: contextKeys.length > 0 ? Object.fromEntries(permit.facts.context) : undefined,
    upstream: request.upstream.name,
    database: request.upstream.database,
    before: isCommit ? tracking.before(operation.name, id, details) : undefined,
    facts: factsFormat,
    details,
  }
}

function objectOf(
  { permission, id, entry }: PermissionNeed,
  isCommit: boolean,
  tracking: ChangeTracking,
): AuditedObject {
  const details =
    entry && isOperationName(permission)
      ? entryDetails(operationNamed(permission), entry.stated, entry.members)
      : undefined
  const before = isCommit ? tracking.before(permission, id, details) : undefined
  return { operation: permission, id, details, before }
}

/** Resolves with the receipt of the intent. One that becomes durable too late gets the outcome "not sent". */
function writeIntent(auditLog: AuditLog, entry: IntentEntry): Promise<IntentReceipt> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      const message = 'the change was not made: the audit log did not take its record in time'
      reject(refusal('audit_timeout', message))
    }, writeTimeoutMs)
    auditLog.intent(entry).then(
      (receipt) => {
        clearTimeout(timer)
        resolve(receipt)
        if (!isLate) return
        const outcome = { result: 'failed', durationMs: performance.now() - startedAt } as const
        auditLog.outcome(receipt, { ...outcome, details: { reason: 'not sent' } }).catch(() => undefined)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
