import {
  Field,
  Int64,
  Schema,
  Table,
  TimestampMillisecond,
  Utf8,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow'
import { CatalogError, type RequestOf } from 'catalog-gateway/catalog-api'
import { listNewestJobs, type JobProgress } from '../../database/jobs.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireJob, wireStates } from './job-operations.ts'

/** A change of the state of a job; a job has no other events, so none are stored. */
interface JobEvent {
  readonly jobId: string
  readonly jobType: string
  readonly state: string
  /** Milliseconds since the epoch. */
  readonly updatedAt: number
  readonly rowsProcessed: number | undefined
}

const defaultLimit = 1000
const maxLimit = 10_000
const maxJobs = 10_000

/** Columns of the interface that do not apply to jobs that run in the catalog itself. */
const emptyColumns = ['updated_by', 'emitted_from', 'emitted_by', 'claim_entity']

/**
 * Returns the newest changes of state of one job, or of the newest jobs, in the order of time as an Arrow IPC stream.
 * Throws TransactionNotFound (404), and Unsupported (406) for a filter.
 */
export async function queryJobEvents(
  context: CatalogContext,
  { job_id: jobId, filter, limit = defaultLimit }: RequestOf<'QueryJobEvents'>,
): Promise<AsyncIterable<Uint8Array>> {
  if (filter) throw new CatalogError('Unsupported', 'a filter of job events is not supported by this catalog')
  const jobs =
    jobId === undefined ? await listNewestJobs(context.database, maxJobs) : [await requireJob(context, jobId)]
  const events = jobs.flatMap(listEvents).toSorted((left, right) => left.updatedAt - right.updatedAt)
  const first = Math.max(0, events.length - Math.min(limit, maxLimit))
  return yieldOnce(tableToIPC(toTable(events.slice(first)), 'stream'))
}

function listEvents(job: JobProgress): JobEvent[] {
  const { jobId, operation: jobType, createdAt, startedAt, endedAt } = job
  const event = (state: string, updatedAt: number, rowsProcessed: number | undefined): JobEvent => ({
    jobId,
    jobType,
    state,
    updatedAt,
    rowsProcessed,
  })
  const rows = job.result?.['rows_assigned']
  return [
    event('QUEUED', createdAt, undefined),
    ...(startedAt === undefined ? [] : [event('IN_PROGRESS', startedAt, undefined)]),
    ...(endedAt === undefined
      ? []
      : [event(wireStates[job.state], endedAt, typeof rows === 'number' ? rows : undefined)]),
  ]
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

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
