import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readLines } from '../../lib/fs/read-lines.ts'
import { parseStoredRecord, type StoredRecord } from './read-audit-log.ts'
import { listChains } from './segment-names.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'

/** Reads the last segment and earlier ones up to `maxBytes` in total, oldest record first. Ignores invalid lines. */
export async function* readNewestRecords(
  folder: string,
  maxBytes: number,
): AsyncGenerator<StoredRecord, void> {
  const files = (await listChains(folder)).flatMap(({ segments }) => segments)
  let bytes = 0
  let first = files.length
  while (first > 0) {
    bytes += (await stat(join(folder, files[first - 1] ?? '')).catch(ignoreMissing))?.size ?? 0
    if (bytes > maxBytes && first < files.length) break
    first -= 1
  }
  for (const file of files.slice(first)) {
    for await (const { bytes, end } of readLines(join(folder, file))) {
      const record = end === 'newline' ? parseStoredRecord(bytes.toString('utf8')) : undefined
      if (record !== undefined) yield record
    }
  }
}
