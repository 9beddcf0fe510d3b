import { readFirstRecord, readSegment } from '../storage/read-audit-log.ts'
import type { StoredLog } from '../storage/stored-log.ts'
import type { StoredIntent } from '../formats/record-context.ts'
import { memoize } from '../../lib/memoize.ts'

/** Finds the intent of an outcome or resolution in another segment; undefined if it is not in the log. */
export type FindIntent = (chain: string, seq: number) => Promise<StoredIntent | undefined>

/** Reads each segment at most once, and retains only intents that later segments may refer to. */
export function createIntentFinder(log: StoredLog): FindIntent {
  const readFirstSeq = memoize(async (file: string) => (await readFirstRecord(log, file))?.seq ?? Infinity)
  const readOpenIntents = memoize(async (file: string) => {
    const open = new Map<number, StoredIntent>()
    for await (const record of readSegment(log, file)) {
      if (record.kind === 'intent') open.set(record.seq, record)
      // An unknown outcome is resolved later.
      else if (record.kind === 'outcome' && record.result !== 'unknown' && record.intentChain === undefined)
        open.delete(record.intentSeq)
    }
    return open
  })
  return async (chain, seq) => {
    const { segments = [] } = log.chains.find((one) => one.chain === chain) ?? {}
    for (const file of segments.toReversed()) {
      if ((await readFirstSeq(file)) <= seq) return (await readOpenIntents(file)).get(seq)
    }
    return undefined
  }
}
