import { InterfaceError } from '../interface/errors.ts'

/**
 * Why a record was not taken. `full`: too many records wait. `disk`: it could not be written. `space`: what is left
 * of the disk is kept for changes under way. `closed`: the log is closed.
 */
export type UnavailableReason = 'full' | 'disk' | 'space' | 'closed'

/** The audit log cannot take a record now, so the change must not happen: answered as 503. */
export class AuditUnavailable extends InterfaceError {
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, cause?: unknown) {
    super(
      'ServiceUnavailable',
      'the change was not made: the audit log cannot be written now, and no change passes unrecorded',
      {
        headers: { 'retry-after': '1' },
        cause,
      },
    )
    this.reason = reason
  }
}
