import { createContextTracker, type RecordContext } from '../formats/record-context.ts'
import { listLogFolders } from '../storage/log-folders.ts'
import { mergeByTime } from './merge-by-time.ts'
import { readAuditLog, type StoredRecord } from '../storage/read-audit-log.ts'
import type { ObjectId } from '../records/audit-record.ts'

/** Which records are wanted; what is missing does not matter. */
export interface RecordFilter {
  /** Of that table. */
  readonly table?: ObjectId
  /** Of that principal: what it did, what became of it, and what it was denied. */
  readonly principal?: string
  readonly operation?: string
  /** Handed over then or later, and before then. */
  readonly since?: Date
  readonly until?: Date
}

/** A record, and what earlier ones say of it. */
export interface SelectedRecord {
  readonly record: StoredRecord
  readonly context: RecordContext
}

/**
 * The records that are wanted of all logs of a gateway, oldest first. An outcome is one of the operation and principal of
 * its intent.
 */
export async function* selectRecords(
  folder: string,
  selection: RecordFilter,
): AsyncGenerator<SelectedRecord, void> {
  const logs = (await listLogFolders(folder)).map((log) => selectLogRecords(log, selection))
  yield* mergeByTime(logs, ({ record }) => record.time)
}

async function* selectLogRecords(
  folder: string,
  selection: RecordFilter,
): AsyncGenerator<SelectedRecord, void> {
  const tracker = createContextTracker()
  for await (const record of readAuditLog(folder)) {
    const context = tracker.track(record)
    if (matchesFilter(record, context, selection)) yield { record, context }
  }
}

/** Who did what, as the record or its intent says. */
export function getRequestRecord(record: StoredRecord, { intent }: RecordContext) {
  return record.kind === 'intent' || record.kind === 'refusal' ? record : intent
}

function matchesFilter(record: StoredRecord, context: RecordContext, selection: RecordFilter): boolean {
  const { table, principal, operation, since, until } = selection
  const deed = getRequestRecord(record, context)
  const time = Date.parse(record.time)
  return (
    (since === undefined || time >= since.getTime()) &&
    (until === undefined || time < until.getTime()) &&
    (principal === undefined || deed?.principal?.name === principal) &&
    (operation === undefined || deed?.operation === operation) &&
    (table === undefined || mentionsTable(record, table))
  )
}

/** Whether the record speaks of the table. */
export function mentionsTable({ tables = [] }: StoredRecord, table: ObjectId): boolean {
  const text = JSON.stringify(table)
  return tables.some(({ id }) => JSON.stringify(id) === text)
}
