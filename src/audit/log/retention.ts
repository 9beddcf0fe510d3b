import { stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { checkLine } from '../records/hash-chain.ts'
import { readLines } from '../../lib/fs/read-lines.ts'
import type { ChainEnd } from '../records/audit-record.ts'
import { listChains } from '../storage/segment-names.ts'
import { syncFolder } from '../../lib/fs/sync-folder.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'

/** What may be removed. */
export interface Retention {
  /** Segments whose last record is older. */
  readonly maxAgeMs?: number
  /** Oldest segments, while all of them together are larger. */
  readonly maxBytes?: number
  /** The oldest segment that somebody still reads, as the name of its file: it and all later ones stay. */
  readonly oldestNeededSegment?: () => string | undefined
  /**
   * The intents whose outcome is unknown and still looked for: they stay. Undefined where that is not known yet, and
   * then nothing is removed; see `AuditLog.removeOld`.
   */
  readonly inDoubtIntents?: () => readonly IntentPosition[] | undefined
}

/** Where an intent stands. */
type IntentPosition = Pick<ChainEnd, 'chain' | 'seq'>

/** What of a log is to be removed, and its last record. */
export interface Removal {
  readonly files: readonly string[]
  readonly through: ChainEnd
}

/**
 * Says what of the folder is to be removed, before `active`, the segment that is written. What holds one of the intents
 * that are open stays. Undefined when there is nothing, or when what would follow is damaged.
 */
export async function planRemoval(
  folder: string,
  active: string,
  open: readonly IntentPosition[],
  retention: Retention,
): Promise<Removal | undefined> {
  const files = (await listChains(folder)).flatMap(({ segments }) => segments)
  const sizes = await Promise.all(files.map((file) => stat(join(folder, file))))
  const needed = retention.oldestNeededSegment?.()
  let retained = sizes.reduce((sum, { size }) => sum + size, 0)
  const removed: string[] = []
  let through: ChainEnd | undefined
  for (const [index, file] of files.entries()) {
    const next = files[index + 1]
    if (file === active || file === needed || next === undefined) break
    const { size, mtimeMs } = sizes[index] ?? { size: 0, mtimeMs: 0 }
    const isOld = Date.now() - mtimeMs > (retention.maxAgeMs ?? Infinity)
    if (!isOld && retained <= (retention.maxBytes ?? Infinity)) break
    const end = await readPrecedingRecord(join(folder, next))
    if (end === undefined || open.some(({ chain, seq }) => chain === end.chain && seq <= end.seq)) break
    retained -= size
    removed.push(file)
    through = end
  }
  return through && { files: removed, through }
}

/** Removes them; what is gone already is passed over. */
export async function removeSegments(folder: string, files: readonly string[]): Promise<void> {
  for (const file of files) {
    await unlink(join(folder, file)).catch(ignoreMissing)
  }
  await syncFolder(folder)
}

/** The record before the first one of a segment; undefined where the segment does not say. */
async function readPrecedingRecord(path: string): Promise<ChainEnd | undefined> {
  for await (const { bytes, end } of readLines(path)) {
    const checked = end === 'newline' ? checkLine(bytes) : 'unfinished'
    if (typeof checked === 'string') return undefined
    const { record } = checked
    if (record.kind === 'start') return record.previous
    return { chain: record.chain, seq: record.seq - 1, hash: record.prev }
  }
  return undefined
}
