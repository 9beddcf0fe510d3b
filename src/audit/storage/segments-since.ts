import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseRecord } from '../records/hash-chain.ts'
import { readSegmentLines } from './read-segment-lines.ts'
import type { ChainSegments } from './segment-names.ts'

/** A clock that is set back by less within a segment hides no record. */
const maxClockStepMs = 3_600_000
/** Longer than a seal, with which each segment but the newest ends unless the gateway crashed. */
const tailBytes = 16 * 1024

/**
 * Lists the segments of chains that may contain records from a time on, oldest first: without those whose last record is
 * more than an hour older. Of these, only the last record is read: the times of files change when they are copied.
 */
export async function listSegmentsSince(
  folder: string,
  chains: readonly ChainSegments[],
  since: Date | undefined,
): Promise<readonly string[]> {
  const files = chains.flatMap(({ segments }) => segments)
  if (since === undefined) return files
  const found: string[] = []
  for (const file of files) {
    const end = await readEndTime(join(folder, file))
    if (file === files.at(-1) || end === undefined || end >= since.getTime() - maxClockStepMs)
      found.push(file)
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
