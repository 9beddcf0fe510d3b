import { LRUCache } from 'lru-cache'
import type { StoredRecord } from '../storage/read-audit-log.ts'
import type { DeliveredRecord } from './delivered-record.ts'

/** The gateway that wrote a chain. */
export interface RecordOrigin {
  /** The name of the gateway instance; empty where its start record is no longer there. */
  readonly gateway: string
  /** The version of the software. */
  readonly software: string
}

/** The record of an intent. */
export type StoredIntent = Extract<StoredRecord, { kind: 'intent' }>

/** What earlier records say of a record. */
export interface RecordContext {
  readonly origin: RecordOrigin
  /** The intent of an outcome: an outcome alone does not say who did what. */
  readonly intent?: StoredIntent
}

/** Finds the context of records that are shown to it in the order of the log. */
export interface ContextTracker {
  /** Remembers the record and answers its context; for the same record again it answers the same. */
  track(record: DeliveredRecord): RecordContext
}

/** So many intents are remembered; as many changes would have to be under way at once to need more. */
const maxIntents = 10_000

/** A tracker that begins in a chain of that origin. Its memory is bounded. */
export function createContextTracker(origin: RecordOrigin = { gateway: '', software: '' }): ContextTracker {
  const intents = new LRUCache<string, StoredIntent>({ max: maxIntents })
  let current = origin
  return {
    track(record) {
      if (record.kind === 'start') current = { gateway: record.gateway, software: record.software }
      if (record.kind === 'intent') intents.set(`${record.chain}:${record.seq}`, record)
      const intent =
        'intentSeq' in record
          ? intents.get(`${record.intentChain ?? record.chain}:${record.intentSeq}`)
          : undefined
      return { origin: current, ...(intent && { intent }) }
    },
  }
}
