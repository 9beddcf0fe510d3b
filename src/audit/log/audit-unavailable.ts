import { CatalogError, optionsFor } from '../../catalog-api/catalog-error.ts'

/** Why the audit log takes no record. `audit_disk_full`: the rest of the disk is reserved for changes under way. */
export type UnavailableReason = 'audit_queue_full' | 'audit_write_failed' | 'audit_disk_full' | 'audit_closed'

/** The audit log cannot take a record now, so the change must not happen (503). */
export class AuditUnavailable extends CatalogError {
  constructor(reason: UnavailableReason, cause?: unknown) {
    super('ServiceUnavailable', 'the change was not made: the audit log is unavailable; retry later', {
      ...optionsFor(reason),
      cause,
    })
  }
}
