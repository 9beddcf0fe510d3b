import { LRUCache } from 'lru-cache'
import type { StoredRecord } from '../storage/read-audit-log.ts'
import type { DeliveredRecord } from './delivered-record.ts'

export interface RecordOrigin {
  /** Name of the gateway instance; empty if the start record was removed. */
  readonly gateway: string
  readonly software: string
}

export type StoredIntent = Extract<StoredRecord, { kind: 'intent' }>

export interface RecordContext {
  readonly origin: RecordOrigin
  /** The intent of an outcome: an outcome alone does not contain the principal and the operation. */
  readonly intent?: StoredIntent
}

/** Records must be passed in log order. */
export interface ContextTracker {
  /** Stores the record and returns its context. Idempotent for the same record. */
  track(record: DeliveredRecord): RecordContext
}

/** Retained intents. Only more concurrent changes than this would exceed it. */
const maxIntents = 10_000

/** Creates a tracker that starts within a chain of `origin`. Memory is bounded. */
export function createContextTracker(origin: RecordOrigin = { gateway: '', software: '' }): ContextTracker {
  const intents = new LRUCache<string, StoredIntent>({ max: maxIntents })
  let currentOrigin = origin
  return {
    track(record) {
      if (record.kind === 'start') currentOrigin = { gateway: record.gateway, software: record.software }
      if (record.kind === 'intent') intents.set(`${record.chain}:${record.seq}`, record)
      const intent =
        'intentSeq' in record
          ? intents.get(`${record.intentChain ?? record.chain}:${record.intentSeq}`)
          : undefined
      return { origin: currentOrigin, ...(intent && { intent }) }
    },
  }
}
