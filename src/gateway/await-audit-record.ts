import { refusal } from '../catalog-api/catalog-error.ts'
import type { AuditMode } from '../config/index.ts'
import { TimeoutExceeded, withTimeout } from '../lib/async/with-timeout.ts'

/** A hanging disk must not delay requests forever. */
const writeTimeoutMs = 10_000

/**
 * Waits for a record that must be on disk before its request is forwarded; at once resolved if the mode does not require
 * it. Rejects with ServiceUnavailable (503) if the record cannot be written, or takes too long. `effect` says what that means for the request.
 */
export async function awaitAuditRecord(
  written: Promise<unknown>,
  mode: AuditMode,
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
