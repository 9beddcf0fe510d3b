import { listLogFolders } from './log-folders.ts'
import type { AuditRecord } from '../records/audit-record.ts'
import { parseRecord } from '../records/hash-chain.ts'
import { openStoredLog } from './stored-log.ts'

export type StoredRecord = AuditRecord & { readonly hash: string }

/** Reads unverified records, oldest first. Ignores an incomplete last line; rejects if another line is not a record. */
export async function* readAuditLog(folder: string): AsyncGenerator<StoredRecord, void> {
  for await (const line of readRecordLines(folder)) yield readStoredRecord(line)
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

export async function* readAuditLogs(folder: string): AsyncGenerator<StoredRecord, void> {
  for (const log of await listLogFolders(folder)) yield* readAuditLog(log)
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
