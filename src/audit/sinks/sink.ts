import type { DeliveredRecord } from '../formats/delivered-record.ts'

/** A record on its way out of the log. */
export interface Delivery {
  /** The same whenever the record is delivered again. */
  readonly id: string
  /** Records of one key keep their order where a sink has several queues: those of a table share theirs. */
  readonly key: string
  /** In the format of the sink, on one line. */
  readonly text: string
  readonly record: DeliveredRecord
}

/** Where records go besides the file. */
export interface Sink {
  /**
   * Resolves when the receiver has taken all of them for good. Rejects when it has not, or may not have: then they
   * are delivered again. Ends soon after the signal, whatever the receiver does. One call at a time.
   */
  deliver(batch: readonly Delivery[], signal: AbortSignal): Promise<void>
  /** Frees what it holds; nothing is delivered afterwards. */
  close(): Promise<void>
}
