import { LRUCache } from 'lru-cache'
import { formatRecordKey } from '../records/hash-chain.ts'
import { readSegment, type StoredRecord } from '../storage/read-audit-log.ts'
import type { LogSegment } from '../storage/log-segments.ts'
import { memoize } from '../../lib/memoize.ts'

export type StoredIntent = Extract<StoredRecord, { kind: 'intent' }>

/** Finds the intents of outcomes and resolutions: these alone contain neither the principal nor the operation. */
export interface IntentFinder {
  /** Must be called for each record that is read. Returns the intent of a record if it was read before. */
  track(record: StoredRecord): StoredIntent | undefined
  /** Reads the segments of the log; undefined if the intent is not in it. */
  find(record: StoredRecord): Promise<StoredIntent | undefined>
}

/** Retained intents. Only more concurrent changes than this would exceed it. */
const maxIntents = 10_000

/** Reads each segment at most once, and retains only intents that later segments may refer to. */
export function createIntentFinder(folder: string, segments: readonly LogSegment[]): IntentFinder {
  const recent = new LRUCache<string, StoredIntent>({ max: maxIntents })
  const byFile = new Map(segments.map((segment) => [segment.file, segment]))
  const readOpenIntents = memoize(async (file: string) => {
    const open = new Map<number, StoredIntent>()
    const segment = byFile.get(file)
    for await (const record of segment ? readSegment(folder, segment, () => undefined) : []) {
      if (record.kind === 'intent') open.set(record.seq, record)
      // An unknown outcome is resolved later.
      else if (record.kind === 'outcome' && record.result !== 'unknown' && record.intentChain === undefined)
        open.delete(record.intentSeq)
    }
    return open
  })
  return {
    track(record) {
      if (record.kind === 'intent') recent.set(formatRecordKey(record.chain, record.seq), record)
      if (!('intentSeq' in record)) return undefined
      return recent.get(formatRecordKey(record.intentChain ?? record.chain, record.intentSeq))
    },
    async find(record) {
      if (!('intentSeq' in record)) return undefined
      const { intentChain = record.chain, intentSeq } = record
      const segment = segments.findLast(
        ({ chain, isForeign, firstSeq = Infinity }) =>
          chain === intentChain && !isForeign && firstSeq <= intentSeq,
      )
      return segment && (await readOpenIntents(segment.file)).get(intentSeq)
    },
  }
}
