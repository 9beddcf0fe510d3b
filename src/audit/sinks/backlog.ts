import { join } from 'node:path'
import { readLines } from '../../lib/fs/read-lines.ts'
import type { AuditRecord } from '../records/audit-record.ts'
import { listChains } from '../storage/segment-names.ts'
import type { Cursor } from './cursor.ts'
import type { DurableEnd } from './log-follower.ts'

/** Counts the records that a sink has not taken yet. */
export interface Backlog {
  size(end: DurableEnd): number
  addDelivered(records: number): void
  /** Nothing is left: what was counted wrongly, as records were removed meanwhile, is forgotten. */
  reset(end: DurableEnd): void
}

/**
 * Counts what stands behind the cursor. It reads one line of each later chain: its start record says with which
 * record the chain before ended.
 */
export async function openBacklog(
  folder: string,
  cursor: Cursor | undefined,
  end: DurableEnd,
): Promise<Backlog> {
  const older = await countRecordsInLaterChains(folder, cursor, end)
  const current = cursor?.last?.chain === end.chain ? cursor.last.seq + 1 : 0
  // What was there when counting began, as if all of it stood in the chain that is written.
  let base = older - current
  let taken = 0
  return {
    size: (now) => Math.max(0, base + now.seq + 1 - taken),
    addDelivered: (records) => (taken += records),
    reset(now) {
      base = taken - now.seq - 1
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
    if (end !== 'newline') return undefined
    try {
      return JSON.parse(bytes.toString('utf8')) as AuditRecord
    } catch {
      return undefined
    }
  }
  return undefined
}
