import { factsFormat } from '../audit/fact-details.ts'
import type { AuditLog, IntentReceipt } from '../audit/log.ts'
import type { OperationMode } from '../audit/modes.ts'
import type { AuditedObject, IntentEntry } from '../audit/records.ts'
import { InterfaceError, invalidInput } from '../interface/errors.ts'
import type { ChangeTracking } from './changes/change-tracking.ts'
import { operationNamed, type OperationName } from '../interface/operations.ts'
import { entryDetails } from './changes/commit-details.ts'
import { furtherNeeds, type PermissionNeed } from './needs.ts'
import { recorded, type Placed, type Recorded } from './stages.ts'

/** A disk that hangs, rather than fails, must not hold changes for ever. */
const maximumWaitMs = 10_000

/**
 * The stage that writes the intent of a change: it is on disk before the first byte goes upstream, or the request
 * is refused, unless its class is recorded otherwise (audit/modes.ts). Throws ServiceUnavailable (503) when the log
 * cannot be written, or not in time, and InvalidInput (413) for a batch that is too large for one record. A promise only
 * of what is recorded.
 */
export function record(
  request: Placed,
  audit: AuditLog,
  tracking: ChangeTracking,
): Recorded | Promise<Recorded> {
  const mode = audit.modeOf(request.meaning.operation.name)
  return mode === 'off' ? recorded(request, undefined) : recordIn(mode, request, audit, tracking)
}

async function recordIn(
  mode: Exclude<OperationMode, 'off'>,
  request: Placed,
  audit: AuditLog,
  tracking: ChangeTracking,
): Promise<Recorded> {
  const change = tracking.begin(intentOf(request, audit, tracking))
  if (mode === 'besteffort') {
    const receipt = audit.intent(change.entry, false)
    // Counted by the log, and met again by whoever records the outcome.
    receipt.catch(() => undefined)
    return recorded(request, { receipt, awaitsOutcome: false, change })
  }
  try {
    const receipt = Promise.resolve(await writeIntent(audit, change.entry))
    return recorded(request, { receipt, awaitsOutcome: mode === 'strict', change })
  } catch (error) {
    change.end({ result: 'failed', durationMs: 0 })
    throw error
  }
}

/** In characters of JSON, of what an intent says of all objects of a request: the log is shared by all callers. */
const maximumObjects = 1024 * 1024

/** Throws InvalidInput (413) for a batch that says more of its entries than one record holds. */
function assertRecordable(objects: readonly AuditedObject[]): void {
  if (objects.length < 2 || JSON.stringify(objects).length <= maximumObjects) return
  throw invalidInput(
    'the batch says more of its entries than the audit log takes at once; send it in parts',
    {
      status: 413,
    },
  )
}

/** All members are there, with or without a value: this is done for every change. */
function intentOf(request: Placed, { contextKeys }: AuditLog, tracking: ChangeTracking): IntentEntry {
  const { operation, id } = request.meaning
  const { details } = request
  const further = furtherNeeds(request.decided)
  const isCommit = operation.effect === 'commit'
  const { rule, revision } = request.allowedBy
  const objects = further.map((need) => objectOf(need, isCommit, tracking))
  assertRecordable(objects)
  return {
    request: request.requestId,
    operation: operation.name,
    id,
    objects: objects.length > 0 ? objects : undefined,
    effect: operation.effect,
    principal: request.principal,
    rule,
    policyRevision: revision,
    client: request.client,
    context: contextKeys.length > 0 ? Object.fromEntries(request.facts.context) : undefined,
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
    entry && entryDetails(operationNamed(permission as OperationName), entry.stated, entry.members)
  const before = isCommit ? tracking.before(permission, id, details) : undefined
  return { operation: permission, id, details, before }
}

/** Resolves with the receipt of the intent. What becomes durable too late is recorded as never sent. */
function writeIntent(audit: AuditLog, entry: IntentEntry): Promise<IntentReceipt> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      const message = 'the change was not made: the audit log did not take its record in time'
      reject(new InterfaceError('ServiceUnavailable', message, { headers: { 'retry-after': '5' } }))
    }, maximumWaitMs)
    audit.intent(entry).then(
      (receipt) => {
        clearTimeout(timer)
        resolve(receipt)
        if (!isLate) return
        const outcome = { result: 'failed', durationMs: performance.now() - startedAt } as const
        audit.outcome(receipt, { ...outcome, details: { reason: 'not sent' } }).catch(() => undefined)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
