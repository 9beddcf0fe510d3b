import { CatalogError, getRefusalOptions } from '../../catalog-api/catalog-error.ts'

/** Reason for rejecting a record. `audit_disk_full`: the remaining space is reserved for changes in progress. */
export type UnavailableReason = 'audit_queue_full' | 'audit_write_failed' | 'audit_disk_full' | 'audit_closed'

/** The audit log cannot accept a record, so the change must not happen (503). */
export class AuditUnavailable extends CatalogError {
  constructor(reason: UnavailableReason, cause?: unknown) {
    super('ServiceUnavailable', 'the change was not made: the audit log is unavailable; retry later', {
      ...getRefusalOptions(reason),
      cause,
    })
  }
}
