import { join } from 'node:path'
import { readLines } from '../../lib/fs/read-lines.ts'
import type { AuditRecord } from '../records/audit-record.ts'
import { parseRecord } from '../records/hash-chain.ts'
import { listChains } from '../storage/segment-names.ts'
import type { Cursor } from './cursor.ts'
import type { DurableEnd } from './log-follower.ts'

export interface Backlog {
  size(end: DurableEnd): number
  addDelivered(records: number): void
  /** Everything is delivered: corrects the count for records that were removed in the meantime. */
  reset(end: DurableEnd): void
}

/** Reads one line of each later chain: its start record contains the end of the previous chain. */
export async function openBacklog(
  folder: string,
  cursor: Cursor | undefined,
  end: DurableEnd,
): Promise<Backlog> {
  const laterChains = await countRecordsInLaterChains(folder, cursor, end)
  const current = cursor?.last?.chain === end.chain ? cursor.last.seq + 1 : 0
  // The initial backlog, counted as if all of it belonged to the current chain.
  let base = laterChains - current
  let delivered = 0
  return {
    size: (now) => Math.max(0, base + now.seq + 1 - delivered),
    addDelivered: (records) => (delivered += records),
    reset(now) {
      base = delivered - now.seq - 1
    },
  }
}

async function countRecordsInLaterChains(
  folder: string,
  cursor: Cursor | undefined,
  end: DurableEnd,
): Promise<number> {
  const last = cursor?.last
  const chains = await listChains(folder)
  const from = Math.max(
    0,
    chains.findIndex(({ chain }) => chain === last?.chain),
  )
  let count = 0
  for (const { chain, segments } of chains.slice(from + 1)) {
    const [file] = segments
    const start = file === undefined ? undefined : await readFirstRecord(join(folder, file))
    if (start?.kind !== 'start' || start.previous === undefined) continue
    const seen = start.previous.chain === last?.chain ? last.seq + 1 : 0
    count += Math.max(0, start.previous.seq + 1 - seen)
    if (chain === end.chain) break
  }
  return count
}

async function readFirstRecord(path: string): Promise<AuditRecord | undefined> {
  for await (const { bytes, end } of readLines(path)) {
    return end === 'newline' ? parseRecord(bytes.toString('utf8')) : undefined
  }
  return undefined
}
