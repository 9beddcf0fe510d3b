import { type AuditedObject, type AuditLog, factsFormat, type IntentEntry } from '../../audit/index.ts'
import { getOperation, isOperationName, refusal } from '../../catalog-api/index.ts'
import type { ChangeTracker, WrittenIntent } from '../changes/change-tracker.ts'
import { advance } from '../context.ts'
import { createChangeDetails, createEntryDetails } from '../facts/change-details.ts'
import { listAdditionalPermissions, type RequiredPermission } from '../authorization/required-permission.ts'
import type { Placed } from './place.ts'
import type { AuditSettings } from '../../config/index.ts'
import { TimeoutExceeded, withTimeout } from '../../lib/index.ts'

/** A request that may be forwarded: the intent of a change is in the audit log, if its operation is audited. */
export interface Audited extends Placed {
  /** Undefined for operations that are not audited; by default these are reads. */
  readonly intent: WrittenIntent | undefined
}

export interface AuditOptions {
  readonly auditLog: AuditLog
  readonly changeTracker: ChangeTracker
}

/**
 * Stage 9: writes the intent of a change. It is on disk before the first byte goes upstream, unless the mode
 * is `besteffort`. Throws ServiceUnavailable (503) if the log cannot be written in
 * time, and InvalidInput (413) for a batch that is too large for one record.
 */
export async function audit(request: Placed, { auditLog, changeTracker }: AuditOptions): Promise<Audited> {
  const mode = auditLog.modeFor(request.route.operation)
  if (mode === undefined) return advance(request, { intent: undefined })
  const entry = createIntent(request, auditLog, changeTracker)
  const awaitsOutcome = mode === 'strict'
  const startedAt = performance.now()
  const receipt = auditLog.recordIntent(entry, awaitsOutcome)
  try {
    await awaitAuditRecord(receipt, mode, 'the change was not made')
  } catch (error) {
    changeTracker.countFailed(entry)
    // An intent that becomes durable too late gets an outcome.
    receipt
      .then((recorded) => {
        const outcome = { result: 'failed', durationMs: performance.now() - startedAt } as const
        return auditLog.recordOutcome(recorded, { ...outcome, details: { reason: 'not sent' } })
      })
      .catch(() => undefined)
    throw error
  }
  return advance(request, { intent: { entry, receipt, awaitsOutcome } })
}

/** In characters of JSON: all callers share the log. */
const maxObjectsLength = 1024 * 1024

function createIntent(request: Placed, { contextKeys }: AuditLog, tracking: ChangeTracker): IntentEntry {
  const { head, permit, body, sentRoute } = request
  const { operation, id } = sentRoute
  const details = createChangeDetails(sentRoute, permit.stated, body.members, body.allowedMembers)
  const further = listAdditionalPermissions(permit.decisions)
  const isCommit = operation.effect === 'commit'
  const { rule, revision } = request.allowedBy
  const objects = further.map((permission) => createAuditedObject(permission, isCommit, tracking))
  if (objects.length > 1 && JSON.stringify(objects).length > maxObjectsLength)
    throw refusal('batch_too_large', 'the batch is too large for one audit record; send it in parts')
  return {
    request: head.requestId,
    operation: operation.name,
    id,
    objects: objects.length > 0 ? objects : undefined,
    effect: operation.effect,
    principal: request.principal,
    rule,
    restrictedBy: request.headPermit.restriction?.parts.map(({ rule }) => rule),
    policyRevision: revision,
    client: head.client,
    peer: head.peer,
    context: contextKeys.length > 0 ? Object.fromEntries(permit.facts.context) : undefined,
    upstream: request.upstream.name,
    database: request.upstream.database,
    before: isCommit ? tracking.getPreviousVersion(operation.name, id, details) : undefined,
    facts: factsFormat,
    details,
  }
}

function createAuditedObject(
  { permission, id, entry }: RequiredPermission,
  isCommit: boolean,
  tracking: ChangeTracker,
): AuditedObject {
  const details =
    entry && isOperationName(permission)
      ? createEntryDetails(getOperation(permission), entry.stated, entry.members)
      : undefined
  const before = isCommit ? tracking.getPreviousVersion(permission, id, details) : undefined
  return { operation: permission, id, details, before }
}

/** A hanging disk must not delay requests forever. */
const writeTimeoutMs = 10_000

/**
 * Waits for a record that must be on disk before its request is forwarded; at once resolved if the mode does not require
 * it. Rejects with ServiceUnavailable (503) if the record cannot be written, or takes too long. `effect` states the
 * consequence for the request.
 */
export async function awaitAuditRecord(
  written: Promise<unknown>,
  mode: AuditSettings['mode'],
  effect: string,
): Promise<void> {
  if (mode === 'besteffort') {
    // The log counts the failure.
    written.catch(() => undefined)
    return
  }
  try {
    await withTimeout(written, writeTimeoutMs)
  } catch (error) {
    if (!(error instanceof TimeoutExceeded)) throw error
    throw refusal('audit_timeout', `${effect}: timeout writing the audit record; retry later`)
  }
}
