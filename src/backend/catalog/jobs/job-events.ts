import type { RequestOf } from 'catalog-gateway/catalog-api'
import { listNewestJobs, type JobProgress } from '../../database/jobs.ts'
import type { JobEvent } from '../../engine/query/filter-events.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireJob, wireStates } from './job-operations.ts'

const defaultLimit = 1000
const maxLimit = 10_000
const maxJobs = 10_000

/**
 * Returns the newest changes of state of one job, or of the newest jobs, in the order of time as an Arrow IPC stream.
 * Throws TransactionNotFound (404), and InvalidInput (400) for an invalid filter.
 */
export async function queryJobEvents(
  context: CatalogContext,
  { job_id: jobId, filter, limit = defaultLimit }: RequestOf<'QueryJobEvents'>,
): Promise<AsyncIterable<Uint8Array>> {
  const jobs =
    jobId === undefined ? await listNewestJobs(context.database, maxJobs) : [await requireJob(context, jobId)]
  const events = jobs.flatMap(listEvents).toSorted((left, right) => left.updatedAt - right.updatedAt)
  const stream = await context.engine.filterEvents(events, filter, Math.min(limit, maxLimit))
  return yieldOnce(stream)
}

/** A job has no other events than its changes of state, so none are stored. */
function listEvents(job: JobProgress): JobEvent[] {
  const { jobId, operation: jobType, createdAt, startedAt, endedAt } = job
  const event = (state: string, updatedAt: number, rowsProcessed: number | undefined): JobEvent => ({
    jobId,
    jobType,
    state,
    updatedAt,
    rowsProcessed,
  })
  const rows = job.result?.['rows_assigned'] ?? job.result?.['rows_written']
  return [
    event('QUEUED', createdAt, undefined),
    ...(startedAt === undefined ? [] : [event('IN_PROGRESS', startedAt, undefined)]),
    ...(endedAt === undefined
      ? []
      : [event(wireStates[job.state], endedAt, typeof rows === 'number' ? rows : undefined)]),
  ]
}

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
