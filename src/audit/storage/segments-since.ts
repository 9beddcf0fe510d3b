import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseRecord } from '../records/hash-chain.ts'
import { readSegmentLines } from './read-segment-lines.ts'
import type { StoredLog } from './stored-log.ts'

export interface Segment {
  readonly file: string
  /** The first segment of its chain. */
  readonly chainStart: string
}

/** A clock that is set back by less within a segment hides no record. */
const maxClockStepMs = 3_600_000
/** Longer than a seal, with which each segment but the newest ends unless the gateway crashed. */
const tailBytes = 16 * 1024

/**
 * Lists the segments of a log that may contain records from a time on, oldest first: without those whose last record is
 * more than an hour older. Of these, only the last record is read: the times of files change when they are copied.
 */
export async function listSegmentsSince(
  log: StoredLog,
  since: Date | undefined,
): Promise<readonly Segment[]> {
  const segments = log.chains.flatMap(({ segments: files }) =>
    files.map((file) => ({ file, chainStart: files[0] ?? file })),
  )
  if (since === undefined) return segments
  const found: Segment[] = []
  for (const [index, segment] of segments.entries()) {
    // The end of the newest segment may be in the journal only.
    const isNewest = index === segments.length - 1
    const end = isNewest ? undefined : await readEndTime(join(log.folder, segment.file))
    if (end === undefined || end >= since.getTime() - maxClockStepMs) found.push(segment)
  }
  return found
}

/** Returns the time of the last record; undefined if the file does not end with a record. */
async function readEndTime(path: string): Promise<number | undefined> {
  const { size } = await stat(path)
  const lines = await readSegmentLines(path, {
    from: Math.max(0, size - tailBytes),
    to: size,
    bytes: tailBytes,
  })
  const last = lines.at(-1)
  const time = last?.end === size ? Date.parse(String(parseRecord(last.text)?.time)) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
