import type { AuditRecord, RecordReference } from '../records/audit-record.ts'

/** End of the durable part of the log; data after it may be truncated, and must not be delivered. */
export interface DurableEnd extends RecordReference {
  readonly file: string
  readonly length: number
}

/**
 * Reports a gap in the delivery: records that were removed from the log, cannot be read, or were refused by the
 * receiver. Never stored in a log.
 */
export interface Undelivered {
  readonly v: 1
  readonly kind: 'undelivered'
  /** ISO 8601, UTC. */
  readonly time: string
  /** The last record delivered before the gap; absent if there is none. */
  readonly after?: RecordReference | undefined
  /** The first readable record after the gap; absent for an unreadable line. */
  readonly before?: RecordReference
  /** The record that the receiver refused. */
  readonly refused?: RecordReference
  readonly line?: { readonly file: string; readonly offset: number; readonly bytes: number }
}

export interface Delivery {
  /** Stable across repeated deliveries, so that receivers can remove duplicates. */
  readonly id: string
  /** JSON on one line; a record as it is stored, so that its hash stays valid. */
  readonly text: string
  readonly record: AuditRecord | Undelivered
}

/**
 * The receiver refused the content of a batch: too large or invalid. It may accept the same records in smaller batches,
 * except the refused one. Any other error is one of the receiver, its credential or the network.
 */
export class ContentRefused extends Error {}

/** Maximum time of the delivery of a batch. */
export const deliveryTimeoutMs = 10_000

export interface Sink {
  /**
   * Resolves when the receiver has accepted all records durably. Rejects if it has not, or may not have: then they are
   * delivered again. Rejects with ContentRefused if the content is the cause. Calls overlap only after the signal of the
   * earlier ones has aborted.
   */
  deliver(batch: readonly Delivery[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}
