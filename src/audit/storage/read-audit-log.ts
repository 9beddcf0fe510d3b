import { listLogFolders } from './log-folders.ts'
import type { AuditRecord } from '../records/audit-record.ts'
import { openStoredLog } from './stored-log.ts'

/** A record as it stands in the file. */
export type StoredRecord = AuditRecord & { readonly hash: string }

/**
 * The records of an audit log, oldest first, as they stand there: `verifyAuditLog` says whether they are what was
 * written. A line that is being written, or was torn by a crash, is passed over. Rejects when a file cannot be read.
 */
export async function* readAuditLog(folder: string): AsyncGenerator<StoredRecord, void> {
  for await (const line of readRecordLines(folder)) yield JSON.parse(line) as StoredRecord
}

/** The records of all logs of a gateway, one log after the other. */
export async function* readAuditLogs(folder: string): AsyncGenerator<StoredRecord, void> {
  for (const log of await listLogFolders(folder)) yield* readAuditLog(log)
}

/** The records of one log as text, without the newlines. */
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
