import { randomUUID } from 'node:crypto'
import {
  Field,
  Int64,
  Schema,
  Table,
  TimestampMillisecond,
  Utf8,
  tableFromIPC,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow'
import { withCatalogErrors } from '../native/native-errors.ts'
import type { NativeModule } from '../native/native-module.ts'
import { parenthesizeExpression } from '../sql/validate-expression.ts'

/** A change of the state of a job. */
export interface JobEvent {
  readonly jobId: string
  readonly jobType: string
  readonly state: string
  /** Milliseconds since the epoch. */
  readonly updatedAt: number
  readonly rowsProcessed: number | undefined
}

/** Columns that clients may filter by, and that do not apply to jobs that run in the catalog itself. */
const emptyColumns = ['updated_by', 'emitted_from', 'emitted_by', 'claim_entity']

/**
 * Returns the last `limit` events that a SQL condition selects as an Arrow IPC stream. The engine evaluates the condition
 * over a table in memory.
 */
export async function filterEvents(
  native: NativeModule,
  events: readonly JobEvent[],
  filter: string | undefined,
  limit: number,
): Promise<Uint8Array> {
  const all = toTable(events)
  if (!filter || events.length === 0) return lastRows(all, limit)
  return await withCatalogErrors(async () => {
    const connection = await native.Connection.new(`memory://${randomUUID()}`, {})
    const file = Buffer.from(tableToIPC(all, 'file'))
    const query = (await connection.createTable('events', file, 'create', [])).query()
    query.onlyIf(parenthesizeExpression(filter))
    const batches = await query.execute(events.length)
    const files: Buffer[] = []
    for (let batch = await batches.next(); batch !== null; batch = await batches.next()) files.push(batch)
    const selected = files.flatMap((batch) => tableFromIPC(batch).batches)
    connection.close()
    return lastRows(selected.length === 0 ? all.slice(0, 0) : new Table(selected), limit)
  })
}

function lastRows(table: Table, limit: number): Uint8Array {
  return tableToIPC(table.slice(Math.max(0, table.numRows - limit)), 'stream')
}

function toTable(events: readonly JobEvent[]): Table {
  const text = (read: (event: JobEvent) => string | null) => vectorFromArray(events.map(read), new Utf8())
  const columns = {
    job_id: text(({ jobId }) => jobId),
    job_type: text(({ jobType }) => jobType),
    state: text(({ state }) => state),
    updated_at: vectorFromArray(
      events.map(({ updatedAt }) => updatedAt),
      new TimestampMillisecond(),
    ),
    ...Object.fromEntries(emptyColumns.map((name) => [name, text(() => null)])),
    rows_processed: vectorFromArray(
      events.map(({ rowsProcessed }) => (rowsProcessed === undefined ? null : BigInt(rowsProcessed))),
      new Int64(),
    ),
  }
  const fields = Object.entries(columns).map(([name, { type }]) => new Field(name, type, true))
  return new Table(new Schema(fields), columns)
}
