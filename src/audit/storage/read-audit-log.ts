import type { AuditRecord } from '../records/audit-record.ts'
import { parseRecord } from '../records/hash-chain.ts'
import { listSegmentsSince } from './segments-since.ts'
import { openStoredLog, type StoredLog } from './stored-log.ts'

export type StoredRecord = AuditRecord & { readonly hash: string }

/**
 * Reads unverified records, oldest first, without the segments that end before a time. Ignores an incomplete last line;
 * rejects if another line is not a record.
 */
export async function* readAuditLog(folder: string, since?: Date): AsyncGenerator<StoredRecord, void> {
  const log = await openStoredLog(folder)
  for (const { file } of await listSegmentsSince(log, since)) yield* readSegment(log, file)
}

/** Parses a line of the log. Throws if it is not a record. Its hash is not verified. */
export function readStoredRecord(line: string): StoredRecord {
  const record = parseStoredRecord(line)
  if (record === undefined)
    throw new Error('the audit log has a line that is not a record of format version 1')
  return record
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
export async function* readSegment(
  log: StoredLog,
  file: string,
  text = '',
): AsyncGenerator<StoredRecord, void> {
  for await (const { bytes, end } of log.lines(file)) {
    if (end === 'newline' && bytes.includes(text)) yield readStoredRecord(bytes.toString('utf8'))
  }
}

/** Undefined if the segment is empty. */
export async function readFirstRecord(log: StoredLog, file: string): Promise<StoredRecord | undefined> {
  for await (const record of readSegment(log, file)) return record
  return undefined
}

/** Reads the records of one log as text, without newlines. */
export async function* readRecordLines(folder: string): AsyncGenerator<string, void> {
  const log = await openStoredLog(folder)
  for (const { segments } of log.chains) {
    for (const file of segments) {
      for await (const { bytes, end } of log.lines(file)) {
        if (end === 'newline') yield bytes.toString('utf8')
      }
    }
  }
}
