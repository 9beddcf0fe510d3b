import type { DeliveredRecord } from '../formats/delivered-record.ts'

export interface Delivery {
  /** Stable across repeated deliveries. */
  readonly id: string
  /** Sinks with several queues preserve the order of records with the same key; all records of a table share one. */
  readonly key: string
  /** In the format of the sink, on one line. */
  readonly text: string
  readonly record: DeliveredRecord
}

/**
 * The receiver refused the content of a batch: too large or invalid. It may accept the same records in smaller batches,
 * except the refused one. Any other error is one of the receiver, its credential or the network.
 */
export class ContentRefused extends Error {}

export interface Sink {
  /**
   * Resolves when the receiver has accepted all records durably. Rejects if it has not, or may not have: then they are
   * delivered again. Rejects with ContentRefused if the content is the cause. Ends soon after the signal aborts, regardless of the receiver. Calls must not overlap.
   */
  deliver(batch: readonly Delivery[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}
