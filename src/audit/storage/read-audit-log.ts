import { listLogFolders } from './log-folders.ts'
import type { AuditRecord } from '../records/audit-record.ts'
import { openStoredLog } from './stored-log.ts'

export type StoredRecord = AuditRecord & { readonly hash: string }

/**
 * Reads the records of an audit log, oldest first, without verifying them: use `verifyAuditLog` for that. Ignores an
 * incomplete last line. Rejects if a file cannot be read.
 */
export async function* readAuditLog(folder: string): AsyncGenerator<StoredRecord, void> {
  for await (const line of readRecordLines(folder)) yield JSON.parse(line) as StoredRecord
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
