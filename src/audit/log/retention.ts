import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChainEnd, RecordReference } from '../records/audit-record.ts'
import { listSegments, compareByAge } from '../storage/log-segments.ts'

export interface Retention {
  /** Remove segments whose last record is older. */
  readonly maxAgeMs?: number | undefined
  /** Remove the oldest segments while the log is larger. */
  readonly maxBytes?: number | undefined
  /** Name of the oldest segment that is still being read, which may be missing. It and all newer ones are retained. */
  readonly oldestNeededSegment?: () => string | undefined
  /** Intents to retain. Undefined while they are not known yet: nothing is removed then; see `AuditLog.prune`. */
  readonly inDoubtIntents?: () => readonly RecordReference[] | undefined
}

/**
 * Selects the segments to remove, all before the active segment `active`. Retains segments that contain an intent in
 * `open`. Undefined if there is nothing to remove, or if the segment that would become the first is damaged.
 */
export async function planRemoval(
  folder: string,
  active: string,
  open: readonly RecordReference[],
  retention: Retention,
) {
  const segments = await listSegments(folder)
  const sizes = await Promise.all(segments.map(({ file }) => stat(join(folder, file))))
  const needed = retention.oldestNeededSegment?.()
  let retained = sizes.reduce((sum, { size }) => sum + size, 0)
  const removed: string[] = []
  let through: ChainEnd | undefined
  for (const [index, { file, end }] of segments.entries()) {
    if (file === active) break
    if (needed !== undefined && compareByAge(file, needed) >= 0) break
    const { size, mtimeMs } = sizes[index] ?? { size: 0, mtimeMs: 0 }
    const isOld = Date.now() - mtimeMs > (retention.maxAgeMs ?? Infinity)
    if (!isOld && retained <= (retention.maxBytes ?? Infinity)) break
    const isFirstDamaged = segments[index + 1]?.firstSeq === undefined
    if (
      end === undefined ||
      isFirstDamaged ||
      open.some(({ chain, seq }) => chain === end.chain && seq <= end.seq)
    )
      break
    retained -= size
    removed.push(file)
    through = end
  }
  return through && { files: removed, through }
}
