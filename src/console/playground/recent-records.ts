import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isForeignRecord, listSegments, parseStoredRecord, type StoredRecord } from '../../audit/index.ts'
import { readLines } from '../../lib/fs/read-lines.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'

const maxBytes = 32 * 1024 * 1024

/**
 * Reads the records of an audit log since a time, of its newest 32 MiB, in any order; they are not verified. Resolves with
 * whether there may be older ones since that time.
 */
export async function readRecentRecords(
  folder: string,
  since: Date,
  onRecord: (record: StoredRecord) => void,
): Promise<boolean> {
  const segments = (await listSegments(folder)).toReversed()
  let left = maxBytes
  for (const segment of segments) {
    const path = join(folder, segment.file)
    const found = await stat(path).catch(ignoreMissing)
    if (found === undefined) continue
    if (found.mtime < since) return false
    const bytes = Math.min(left, found.size)
    for await (const line of readLines(path, { from: found.size - bytes, to: found.size })) {
      // The first line may be the end of one.
      const record = parseStoredRecord(line.bytes.toString('utf8'))
      if (record === undefined || isForeignRecord(segment, record)) continue
      if (Date.parse(record.time) >= since.getTime()) onRecord(record)
    }
    left -= bytes
    if (bytes < found.size) return true
  }
  return false
}
