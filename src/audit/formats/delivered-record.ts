import type { StoredRecord } from '../storage/read-audit-log.ts'

/**
 * Says that records of the log cannot be delivered: they are no longer in it, or cannot be read. It stands in no
 * log; it is delivered in their place, so that no reader takes what it has for all there was.
 */
export interface Undelivered {
  readonly v: 1
  readonly kind: 'undelivered'
  /** ISO 8601, UTC. */
  readonly time: string
  /** The chain and the seq of the record before, where one was delivered. */
  readonly after?: RecordReference
  /** The first record that is there again; missing for a line that cannot be read. */
  readonly before?: RecordReference
  /** The line that cannot be read. */
  readonly line?: { readonly file: string; readonly offset: number; readonly bytes: number }
}

/** A record among all that gateways ever wrote: chains have names that no other chain has. */
export interface RecordReference {
  readonly chain: string
  readonly seq: number
}

/** What is delivered: a record as it stands in the log, or that one is missing. */
export type DeliveredRecord = StoredRecord | Undelivered

/** The same for the same record, whoever delivers it and however often: what duplicates are told by. */
export function formatRecordId(record: DeliveredRecord): string {
  if (record.kind !== 'undelivered') return `${record.chain}:${record.seq}`
  const { before, line } = record
  return before ? `${before.chain}:${before.seq}:missing` : `${line?.file}:${line?.offset}:unreadable`
}
