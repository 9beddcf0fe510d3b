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
import { CatalogError, formatIdentifier, quoteForMessage } from 'catalog-gateway/catalog-api'
import {
  cancelJob as cancelStoredJob,
  findJob,
  listJobs as listStoredJobs,
  type Job,
  listNewestJobs,
  type JobProgress,
} from '../database/jobs.ts'
import { fromPath } from '../database/objects.ts'
import type { JobState } from '../database/schema.ts'
import type { CatalogContext } from './context.ts'
import type { Operations } from './operations.ts'
import { firstPageToken } from './pages.ts'

/** The states in the spelling of LanceDB's server. Its clients take a queued job for a running one. */
const wireStates: Readonly<Record<JobState, string>> = {
  queued: 'IN_PROGRESS',
  running: 'IN_PROGRESS',
  finished: 'DONE',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
}

const defaultPageSize = 1000

export const jobOperations = {
  /**
   * Lists the jobs of all replicas in the order of their ids. The token is the last id, or that of the request if the page
   * is empty.
   */
  async ListJobs({ database }, { delimiter, request: { page_token: after, limit = defaultPageSize } }) {
    const pageSize = Math.min(limit, defaultPageSize)
    const found = await listStoredJobs(database, { after: after || undefined, limit: pageSize + 1 })
    const page = found.slice(0, pageSize)
    return {
      jobs: page.map((job) => ({
        job_id: job.jobId,
        table: formatIdentifier(fromPath(job.path), delimiter),
        job_type: job.operation,
        state: wireStates[job.state],
        created_at_millis: job.createdAt,
      })),
      ...(found.length > page.length && { page_token: page.at(-1)?.jobId ?? (after || firstPageToken) }),
    }
  },

  /** Throws TransactionNotFound (404). */
  async DescribeJob(context, { request: { job_id: jobId } }) {
    const job = await requireJob(context, jobId)
    const { failure } = job
    return {
      job_id: job.jobId,
      job_type: job.operation,
      job_state: wireStates[job.state],
      creation_ms: job.createdAt,
      spec: { ...job.request },
      ...(job.result && { result: { ...job.result } }),
      ...(failure && { failure: { message: failure.message, retryable: failure.retryable } }),
    }
  },

  /** Cancels a job before its next change; one that has ended stays as it is. Throws TransactionNotFound (404). */
  async CancelJob(context, { request: { job_id: jobId } }) {
    await requireJob(context, jobId)
    await cancelStoredJob(context.database, jobId)
    return {}
  },

  /**
   * Returns the newest changes of state of one job, or of the newest jobs, in the order of time as an Arrow IPC stream.
   * Throws TransactionNotFound (404), and Unsupported (406) for a filter.
   */
  async QueryJobEvents(context, { request: { job_id: jobId, filter, limit = defaultLimit } }) {
    if (filter)
      throw new CatalogError('Unsupported', 'a filter of job events is not supported by this catalog')
    const jobs =
      jobId === undefined
        ? await listNewestJobs(context.database, maxJobs)
        : [await requireJob(context, jobId)]
    const events = jobs.flatMap(listEvents).toSorted((left, right) => left.updatedAt - right.updatedAt)
    const first = Math.max(0, events.length - Math.min(limit, maxLimit))
    return yieldOnce(tableToIPC(toTable(events.slice(first)), 'stream'))
  },
} satisfies Operations

async function requireJob({ database }: CatalogContext, jobId: string): Promise<Job> {
  const job = await findJob(database, jobId)
  if (job !== undefined) return job
  throw new CatalogError('TransactionNotFound', `there is no job ${quoteForMessage(jobId)}`)
}

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
