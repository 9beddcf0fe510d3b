import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isForeignRecord, type LogSegment, parseStoredRecord, type StoredRecord } from '../audit/index.ts'
import { readLines } from '../lib/index.ts'

/** Small, as the lines of a read are parsed in one piece. */
const readBytes = 64 * 1024

/** Reads the newest `maxBytes` of an audit log, oldest record first. The records are not verified. */
export async function* readNewestRecords(
  folder: string,
  segments: readonly LogSegment[],
  maxBytes: number,
): AsyncGenerator<StoredRecord, void> {
  const parts: { readonly segment: LogSegment; readonly path: string; readonly from: number }[] = []
  let left = maxBytes
  for (const segment of segments.toReversed()) {
    const path = join(folder, segment.file)
    const { size } = await stat(path)
    parts.unshift({ segment, path, from: Math.max(0, size - left) })
    left -= size
    if (left <= 0) break
  }
  for (const { segment, path, from } of parts) {
    for await (const { bytes } of readLines(path, { from, readBytes })) {
      // The first line may be the end of one.
      const record = parseStoredRecord(bytes.toString('utf8'))
      if (record !== undefined && !isForeignRecord(segment, record)) yield record
    }
  }
}
