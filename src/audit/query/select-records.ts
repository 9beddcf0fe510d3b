import { createContextTracker, type RecordContext } from '../formats/record-context.ts'
import { listLogFolders } from '../storage/log-folders.ts'
import { mergeByTime } from './merge-by-time.ts'
import { readAuditLog, type StoredRecord } from '../storage/read-audit-log.ts'
import type { AuditedPrincipal, ObjectId } from '../records/audit-record.ts'

/** Criteria for records; an absent criterion matches all. */
export interface RecordFilter {
  readonly table?: ObjectId
  /** Includes outcomes of its changes and its refused requests. */
  readonly principal?: string
  readonly operation?: string
  /** Inclusive start of the time range of the records; `until` is exclusive. */
  readonly since?: Date
  readonly until?: Date
}

export interface SelectedRecord {
  readonly record: StoredRecord
  readonly context: RecordContext
}

/** Selects from all logs of a gateway, oldest first. An outcome has the operation and principal of its intent. */
export async function* selectRecords(
  folder: string,
  filter: RecordFilter,
): AsyncGenerator<SelectedRecord, void> {
  const logs = (await listLogFolders(folder)).map((log) => selectLogRecords(log, filter))
  yield* mergeByTime(logs, ({ record }) => record.time)
}

async function* selectLogRecords(folder: string, filter: RecordFilter): AsyncGenerator<SelectedRecord, void> {
  const tracker = createContextTracker()
  for await (const record of readAuditLog(folder)) {
    const context = tracker.track(record)
    if (matchesFilter(record, context, filter)) yield { record, context }
  }
}

/** What a record says of its request. */
interface RequestRecord {
  /** Name of the operation, or `PassThrough`. */
  readonly operation?: string | undefined
  readonly id?: ObjectId | undefined
  readonly principal?: AuditedPrincipal | undefined
}

export function getRequestRecord(record: StoredRecord, { intent }: RecordContext): RequestRecord | undefined {
  if (record.kind === 'passThrough') return { operation: 'PassThrough', principal: record.principal }
  return record.kind === 'intent' || record.kind === 'refusal' ? record : intent
}

function matchesFilter(record: StoredRecord, context: RecordContext, filter: RecordFilter): boolean {
  const { table, principal, operation, since, until } = filter
  const requestRecord = getRequestRecord(record, context)
  const time = Date.parse(record.time)
  return (
    (since === undefined || time >= since.getTime()) &&
    (until === undefined || time < until.getTime()) &&
    (principal === undefined || requestRecord?.principal?.name === principal) &&
    (operation === undefined || requestRecord?.operation === operation) &&
    (table === undefined || mentionsTable(record, table))
  )
}

export function mentionsTable({ tables = [] }: StoredRecord, table: ObjectId): boolean {
  const text = JSON.stringify(table)
  return tables.some(({ id }) => JSON.stringify(id) === text)
}
