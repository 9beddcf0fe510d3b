import type { AuditLog, IntentReceipt } from '../audit/log.ts'
import type { IntentEntry } from '../audit/records.ts'
import { InterfaceError } from '../interface/errors.ts'
import type { Consistent, Recorded } from './stages.ts'

/** A disk that hangs, rather than fails, must not hold changes for ever. */
const maximumWaitMs = 10_000

/**
 * The stage that writes the intent of a change: it is on disk before the first byte goes upstream, or the request
 * is refused. A read passes without a record. Throws ServiceUnavailable (503) when the log cannot be written, or not in time.
 */
export async function record(request: Consistent, audit: AuditLog, upstream: string): Promise<Recorded> {
  const { effect, name } = request.meaning.operation
  if (effect === 'read') return { ...request, intent: undefined }
  const { rule, revision } = request.allowedBy
  const intent = await writeIntent(audit, {
    request: request.requestId,
    operation: name,
    id: request.meaning.id,
    ...(request.inner.length === 0
      ? {}
      : { objects: request.inner.map(({ permission, id }) => ({ operation: permission, id })) }),
    effect,
    principal: request.principal,
    rule,
    policyRevision: revision,
    client: request.client,
    upstream,
    details: request.details,
  })
  return { ...request, intent }
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
