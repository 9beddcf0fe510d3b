import { refusal } from '../catalog-api/catalog-error.ts'
import { TimeoutExceeded, withTimeout } from '../lib/async/with-timeout.ts'

/** A hanging disk must not delay requests forever. */
const writeTimeoutMs = 10_000

/**
 * Settles like the write of a record, or rejects with ServiceUnavailable (503) if it takes too long. `effect` says what
 * that means for the request.
 */
export async function awaitAuditRecord<Value>(written: Promise<Value>, effect: string): Promise<Value> {
  try {
    return await withTimeout(written, writeTimeoutMs)
  } catch (error) {
    if (!(error instanceof TimeoutExceeded)) throw error
    throw refusal('audit_timeout', `${effect}: timeout writing the audit record; retry later`)
  }
}
