import { createContextTracker, type RecordContext } from '../formats/record-context.ts'
import { listLogFolders } from '../storage/log-folders.ts'
import { readAuditLog, type StoredRecord } from '../storage/read-audit-log.ts'
import type { AuditedPrincipal, ObjectId } from '../records/audit-record.ts'
import type { RuleReference } from '../../policy/engine/decision.ts'
import { qualifiedRuleName } from '../../policy/testing/decision-test.ts'

/** Criteria for records; an absent criterion matches all. */
export interface RecordFilter {
  /** Request id: `instance` of an error, and the header `x-request-id`. */
  readonly request?: string
  readonly table?: ObjectId
  /** Includes outcomes of its changes, its refused requests, and changes of keys by or for it. */
  readonly principal?: string
  readonly operation?: string
  /** Id of the rule that allowed or denied the request, alone or as `policy/rule`. */
  readonly rule?: string
  /** Only refused requests: denials and rejected credentials. */
  readonly denied?: boolean
  /** Inclusive start of the time range of the records; `until` is exclusive. */
  readonly since?: Date
  readonly until?: Date
}

export interface SelectedRecord {
  readonly record: StoredRecord
  readonly context: RecordContext
}

/**
 * Selects from all logs of a gateway, oldest first. An outcome has the operation, principal and rule of its intent.
 * `onRecord` is called for every record that is read, selected or not.
 */
export async function* selectRecords(
  folder: string,
  filter: RecordFilter,
  onRecord?: (record: SelectedRecord) => void,
): AsyncGenerator<SelectedRecord, void> {
  const logs = (await listLogFolders(folder)).map((log) => selectLogRecords(log, filter, onRecord))
  yield* mergeByTime(logs, ({ record }) => record.time)
}

async function* selectLogRecords(
  folder: string,
  filter: RecordFilter,
  onRecord?: (record: SelectedRecord) => void,
): AsyncGenerator<SelectedRecord, void> {
  const tracker = createContextTracker()
  for await (const record of readAuditLog(folder)) {
    const selected = { record, context: tracker.track(record) }
    onRecord?.(selected)
    if (matchesFilter(selected, filter)) yield selected
  }
}

/** What a record says of its request. */
interface RequestRecord {
  /** Name of the operation, or `PassThrough`. */
  readonly operation?: string | undefined
  readonly id?: ObjectId | undefined
  readonly principal?: AuditedPrincipal | undefined
  readonly rule?: RuleReference | undefined
}

export function getRequestRecord(record: StoredRecord, { intent }: RecordContext): RequestRecord | undefined {
  if (record.kind === 'passThrough') return { operation: passThroughOperation, principal: record.principal }
  return record.kind === 'intent' || record.kind === 'refusal' ? record : intent
}

/** Stands for the operation in records of pass-through routes. */
export const passThroughOperation = 'PassThrough'

/** The criteria of a filter that are names which records contain. */
export type NameCriterion = 'operation' | 'principal' | 'rule'

/** Lists the names by which a record is found; a rule has two. */
export function listNames(criterion: NameCriterion, { record, context }: SelectedRecord): readonly string[] {
  const request = getRequestRecord(record, context)
  if (criterion === 'rule') {
    return request?.rule === undefined ? [] : [qualifiedRuleName(request.rule), request.rule.rule]
  }
  if (criterion === 'principal' && record.kind === 'reload') {
    return (record.keys ?? []).flatMap(({ principal, by }) => [principal, ...(by === undefined ? [] : [by])])
  }
  const name = criterion === 'operation' ? request?.operation : request?.principal?.name
  return name === undefined ? [] : [name]
}

function matchesFilter(selected: SelectedRecord, filter: RecordFilter): boolean {
  const { record } = selected
  const { request, table, principal, operation, rule, denied, since, until } = filter
  const hasName = (criterion: NameCriterion, wanted: string | undefined): boolean =>
    wanted === undefined || listNames(criterion, selected).includes(wanted)
  const time = Date.parse(record.time)
  return (
    (since === undefined || time >= since.getTime()) &&
    (until === undefined || time < until.getTime()) &&
    (request === undefined || ('request' in record && record.request === request)) &&
    (!denied || record.kind === 'refusal') &&
    hasName('principal', principal) &&
    hasName('operation', operation) &&
    hasName('rule', rule) &&
    (table === undefined || mentionsTable(record, table))
  )
}

export function mentionsTable({ tables = [] }: StoredRecord, table: ObjectId): boolean {
  const text = JSON.stringify(table)
  return tables.some(({ id }) => JSON.stringify(id) === text)
}

/** Merges several logs into one sequence by time. The order within each log is preserved. */
async function* mergeByTime<Entry>(
  logs: readonly AsyncGenerator<Entry, void>[],
  getTime: (entry: Entry) => string,
): AsyncGenerator<Entry, void> {
  try {
    const heads = await Promise.all(logs.map(async (log) => ({ log, next: await log.next() })))
    for (;;) {
      const open = heads.filter(({ next }) => next.done !== true)
      const [first] = open.toSorted((one, other) => (entryTime(one) < entryTime(other) ? -1 : 1))
      if (first?.next.done !== false) return
      yield first.next.value
      first.next = await first.log.next()
    }
  } finally {
    for (const log of logs) await log.return()
  }

  function entryTime({ next }: { next: IteratorResult<Entry, void> }): string {
    return next.done === true ? '' : getTime(next.value)
  }
}
