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

export interface Sink {
  /**
   * Resolves when the receiver has accepted all records durably. Rejects if it has not, or may not have: then they are
   * delivered again. Ends soon after the signal aborts, regardless of the receiver. Calls must not overlap.
   */
  deliver(batch: readonly Delivery[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}
