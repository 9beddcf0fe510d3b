import type { AuditLog, IntentReceipt } from '../audit/log.ts'
import type { IntentEntry } from '../audit/records.ts'
import { InterfaceError } from '../interface/errors.ts'
import type { ChangeTracking } from './changes/change-tracking.ts'
import { detailsOf } from './changes/commit-details.ts'
import type { PermissionNeed } from './needs.ts'
import { widened, type Placed, type Recorded } from './stages.ts'

/** A disk that hangs, rather than fails, must not hold changes for ever. */
const maximumWaitMs = 10_000

/**
 * The stage that writes the intent of a change: it is on disk before the first byte goes upstream, or the request
 * is refused, unless its class is recorded otherwise (audit/modes.ts). Throws ServiceUnavailable (503) when the log
 * cannot be written, or not in time.
 */
export async function record(request: Placed, audit: AuditLog, tracking: ChangeTracking): Promise<Recorded> {
  const mode = audit.modeOf(request.meaning.operation.name)
  if (mode === 'off') return widened(request, { intent: undefined })
  const change = tracking.begin(intentOf(request, audit))
  if (mode === 'besteffort') {
    const receipt = audit.intent(change.entry, false)
    // Counted by the log, and met again by whoever records the outcome.
    receipt.catch(() => undefined)
    return widened(request, { intent: { receipt, awaitsOutcome: false, change } })
  }
  try {
    const receipt = Promise.resolve(await writeIntent(audit, change.entry))
    return widened(request, { intent: { receipt, awaitsOutcome: mode === 'strict', change } })
  } catch (error) {
    change.end({ result: 'failed', durationMs: 0 })
    throw error
  }
}

function intentOf(request: Placed, { contextKeys }: AuditLog): IntentEntry {
  const { operation, id } = request.meaning
  const { rule, revision } = request.allowedBy
  return {
    request: request.requestId,
    operation: operation.name,
    id,
    ...(request.inner.length > 0 && { objects: request.inner.map(objectOf) }),
    effect: operation.effect,
    principal: request.principal,
    rule,
    policyRevision: revision,
    client: request.client,
    ...(contextKeys.length > 0 && { context: Object.fromEntries(request.facts.context) }),
    upstream: request.upstream.name,
    details: request.details,
  }
}

function objectOf({ permission, id, entry }: PermissionNeed): NonNullable<IntentEntry['objects']>[number] {
  return { operation: permission, id, ...(entry && { details: detailsOf(entry) }) }
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
