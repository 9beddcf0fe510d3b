import type { StoredRecord } from '../storage/read-audit-log.ts'

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
  readonly after?: RecordReference
  /** The first readable record after the gap; absent for an unreadable line. */
  readonly before?: RecordReference
  /** The record that the receiver refused. */
  readonly refused?: RecordReference
  readonly line?: { readonly file: string; readonly offset: number; readonly bytes: number }
}

/** Identifies a record across all gateways: chain ids are globally unique. */
export interface RecordReference {
  readonly chain: string
  readonly seq: number
}

export type DeliveredRecord = StoredRecord | Undelivered

/** Returns an id that is the same for every delivery of a record, so that receivers can remove duplicates. */
export function formatRecordId(record: DeliveredRecord): string {
  if (record.kind !== 'undelivered') return `${record.chain}:${record.seq}`
  const { before, line, refused } = record
  if (refused) return `${refused.chain}:${refused.seq}:refused`
  return before ? `${before.chain}:${before.seq}:missing` : `${line?.file}:${line?.offset}:unreadable`
}
