import { Readable } from 'node:stream'
import {
  type DataType,
  Field,
  Int64,
  Schema,
  Table,
  TimestampMillisecond,
  Utf8,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow'
import { CatalogError, type ErrorName, formatIdentifier, quoteForMessage } from 'catalog-gateway/catalog-api'
import { findJob, listJobs, updateJob, type Job } from '../database/jobs.ts'
import { fromPath } from '../database/objects.ts'
import type { JobState } from '../database/schema.ts'
import type { CatalogContext } from './context.ts'
import type { Operations } from './operations.ts'
import { takePage } from './pages.ts'

/** The states in the spelling of LanceDB's server. Its clients take a queued job for a running one. */
const wireStates: Readonly<Record<JobState, string>> = {
  queued: 'IN_PROGRESS',
  running: 'IN_PROGRESS',
  finished: 'DONE',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
}

/** The failures of jobs that may succeed if they are submitted again. */
const retryableKinds = new Set<ErrorName>(['ServiceUnavailable', 'ConcurrentModification'])
const maxPageSize = 1000

export const jobOperations = {
  /** Lists the jobs of all replicas in the order of their ids. */
  async ListJobs({ database }, { delimiter, request }) {
    const page = { ...request, limit: Math.min(request.limit ?? maxPageSize, maxPageSize) }
    const jobs = await listJobs(database, page)
    const { entries, token } = takePage(jobs, ({ jobId }) => jobId, page)
    return {
      jobs: entries.map((job) => ({
        job_id: job.jobId,
        table: formatIdentifier(fromPath(job.path), delimiter),
        job_type: job.operation,
        state: wireStates[job.state],
        created_at_millis: job.createdAt,
      })),
      ...token,
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
      ...(failure && {
        failure: { message: failure.message, retryable: retryableKinds.has(failure.kind) },
      }),
    }
  },

  /** Cancels a queued job; one that runs makes its one change, or fails. Throws TransactionNotFound (404). */
  async CancelJob(context, { request: { job_id: jobId } }) {
    await requireJob(context, jobId)
    await updateJob(context.database, jobId, { state: 'cancelled', endedAt: Date.now() }, 'queued')
    return {}
  },

  /**
   * Returns the newest changes of state of a job in the order of time, as an Arrow IPC stream. Throws TransactionNotFound
   * (404), and Unsupported (406) for a filter and for the events of all jobs.
   */
  async QueryJobEvents(context, { request: { job_id: jobId, filter, limit = Infinity } }) {
    if (jobId === undefined || filter)
      throw new CatalogError(
        'Unsupported',
        'this catalog has the events of one job, by job_id, without a filter',
      )
    const events = listEvents(await requireJob(context, jobId), limit)
    return Readable.from([tableToIPC(events, 'stream')])
  },
} satisfies Operations

async function requireJob({ database }: CatalogContext, jobId: string): Promise<Job> {
  const job = await findJob(database, jobId)
  if (job !== undefined) return job
  throw new CatalogError('TransactionNotFound', `there is no job ${quoteForMessage(jobId)}`)
}

/** Lists the newest changes of the state of a job; it has no other events, so none are stored. */
function listEvents({ jobId, operation, state, createdAt, startedAt, endedAt, result }: Job, limit: number) {
  const done = result?.['rows_assigned']
  const changes = [
    { name: 'QUEUED', at: createdAt, rows: null },
    { name: 'IN_PROGRESS', at: startedAt, rows: null },
    { name: wireStates[state], at: endedAt, rows: typeof done === 'number' ? BigInt(done) : null },
  ].filter(({ at }) => at !== null)
  const events = changes.slice(Math.max(0, changes.length - limit))
  const column = (type: DataType, of: (event: (typeof events)[number]) => unknown) =>
    vectorFromArray(events.map(of), type)
  const text = new Utf8()
  // Columns of the interface that do not apply to jobs that run in the catalog itself.
  const none = column(text, () => null)
  const columns = {
    job_id: column(text, () => jobId),
    job_type: column(text, () => operation),
    state: column(text, ({ name }) => name),
    updated_at: column(new TimestampMillisecond(), ({ at }) => at),
    updated_by: none,
    emitted_from: none,
    emitted_by: none,
    claim_entity: none,
    rows_processed: column(new Int64(), ({ rows }) => rows),
  }
  const fields = Object.entries(columns).map(([name, { type }]) => new Field(name, type, true))
  return new Table(new Schema(fields), columns)
}
