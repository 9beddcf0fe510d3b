import { join } from 'node:path'
import type { AuditRecord } from '../records/audit-record.ts'
import { parseRecord } from '../records/hash-chain.ts'
import { readLines } from '../../lib/fs/read-lines.ts'
import { listChains } from './segment-names.ts'
import { listSegmentsSince } from './segments-since.ts'

export type StoredRecord = AuditRecord & { readonly hash: string }

/**
 * Reads unverified records, oldest first, without the segments that end before a time. Ignores an incomplete last line;
 * rejects if another line is not a record.
 */
export async function* readAuditLog(folder: string, since?: Date): AsyncGenerator<StoredRecord, void> {
  for (const file of await listSegmentsSince(folder, await listChains(folder), since)) {
    yield* readSegment(join(folder, file))
  }
}

/** Parses a line of the log; undefined if it is not a record. Its hash is not verified. */
export function parseStoredRecord(line: string): StoredRecord | undefined {
  const record = parseRecord(line)
  return record !== undefined && isStoredRecord(record) ? record : undefined
}

function isStoredRecord(record: AuditRecord): record is StoredRecord {
  return typeof record.time === 'string' && 'hash' in record && typeof record.hash === 'string'
}

/** Reads the records of one segment, like `readAuditLog`; with `text`, only lines that contain it are parsed. */
export async function* readSegment(path: string, text = ''): AsyncGenerator<StoredRecord, void> {
  for await (const { bytes, end } of readLines(path)) {
    if (end !== 'newline' || !bytes.includes(text)) continue
    const record = parseStoredRecord(bytes.toString('utf8'))
    if (record === undefined)
      throw new Error('the audit log has a line that is not a record of format version 1')
    yield record
  }
}

/** Undefined if the segment is empty. */
export async function readFirstRecord(path: string): Promise<StoredRecord | undefined> {
  for await (const record of readSegment(path)) return record
  return undefined
}
