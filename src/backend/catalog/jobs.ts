import { CatalogError, formatIdentifier, quoteForMessage } from 'catalog-gateway/catalog-api'
import {
  cancelJob as cancelStoredJob,
  findJob,
  listJobs as listStoredJobs,
  type Job,
} from '../database/jobs.ts'
import { fromPath } from '../database/objects.ts'
import type { JobState } from '../database/schema.ts'
import type { CatalogContext } from './context.ts'
import type { Operations } from './operations.ts'
import { takePage, toSlice } from './pages.ts'

/** The states in the spelling of LanceDB's server. Its clients take a queued job for a running one. */
const wireStates: Readonly<Record<JobState, string>> = {
  queued: 'IN_PROGRESS',
  running: 'IN_PROGRESS',
  finished: 'DONE',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
}

const maxPageSize = 1000

export const jobOperations = {
  /** Lists the jobs of all replicas in the order of their ids. */
  async ListJobs({ database }, { delimiter, request }) {
    const page = { ...request, limit: Math.min(request.limit ?? maxPageSize, maxPageSize) }
    const jobs = await listStoredJobs(database, toSlice(page))
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
      ...(failure && { failure: { message: failure.message, retryable: failure.retryable } }),
    }
  },

  /** Cancels a job before its next change; one that has ended stays as it is. Throws TransactionNotFound (404). */
  async CancelJob(context, { request: { job_id: jobId } }) {
    await requireJob(context, jobId)
    await cancelStoredJob(context.database, jobId)
    return {}
  },
} satisfies Operations

async function requireJob({ database }: CatalogContext, jobId: string): Promise<Job> {
  const job = await findJob(database, jobId)
  if (job !== undefined) return job
  throw new CatalogError('TransactionNotFound', `there is no job ${quoteForMessage(jobId)}`)
}
