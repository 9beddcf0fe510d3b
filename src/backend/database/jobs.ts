import { randomUUID } from 'node:crypto'
import type { ErrorName } from 'catalog-gateway/catalog-api'
import type { PageRequest } from './objects.ts'
import type { CatalogDatabase, JobState, JobTable } from './schema.ts'

export interface NewJob {
  readonly operation: string
  /** The table that the job changes. */
  readonly objectId: string
  readonly path: string
  /** Parameters for the work; JSON. */
  readonly request: Readonly<Record<string, unknown>>
}

/** For clients. */
export type JobResult = Readonly<Record<string, unknown>>

export interface JobFailure {
  readonly kind: ErrorName
  /** For clients: without paths and secrets. */
  readonly message: string
}

export type Job = NonNullable<Awaited<ReturnType<typeof findJob>>>

/** Adds a queued job. Returns its random id. */
export async function insertJob(database: CatalogDatabase, job: NewJob): Promise<string> {
  const jobId = randomUUID()
  const request = JSON.stringify(job.request)
  await database
    .insertInto('table_jobs')
    .values({ ...job, jobId, request, state: 'queued', attempts: 0, createdAt: Date.now() })
    .execute()
  return jobId
}

export async function findJob(database: CatalogDatabase, jobId: string) {
  const query = database.selectFrom('table_jobs').selectAll().where('jobId', '=', jobId)
  const found = await query.executeTakeFirst()
  if (found === undefined) return undefined
  const { request, result, failure } = found
  /* oxlint-disable typescript/no-unsafe-type-assertion -- written by this program */
  return {
    ...found,
    request: JSON.parse(request) as NewJob['request'],
    result: result === null ? undefined : (JSON.parse(result) as JobResult),
    failure: failure === null ? undefined : (JSON.parse(failure) as JobFailure),
  }
  /* oxlint-enable typescript/no-unsafe-type-assertion */
}

/** Lists jobs in the order of their ids. */
export async function listJobs(database: CatalogDatabase, { page_token: after, limit }: PageRequest) {
  let query = database
    .selectFrom('table_jobs')
    .select(['jobId', 'operation', 'path', 'state', 'createdAt'])
    .orderBy('jobId')
  if (after) query = query.where('jobId', '>', after)
  if (limit !== undefined) query = query.limit(limit + 1)
  return await query.execute()
}

/** Lists the queued and running jobs, of all tables or of one, the oldest first. `request` is JSON. */
export async function listUnfinishedJobs(database: CatalogDatabase, objectId?: string) {
  let query = database
    .selectFrom('table_jobs')
    .select(['jobId', 'objectId', 'operation', 'request'])
    .where('endedAt', 'is', null)
  if (objectId !== undefined) query = query.where('objectId', '=', objectId)
  return await query.orderBy('createdAt').orderBy('jobId').execute()
}

/** Returns false if the job has ended, or is not in that state. */
export async function updateJob(
  database: CatalogDatabase,
  jobId: string,
  changes: Partial<JobTable>,
  expected?: JobState,
): Promise<boolean> {
  let query = database
    .updateTable('table_jobs')
    .set(changes)
    .where('jobId', '=', jobId)
    .where('endedAt', 'is', null)
  if (expected !== undefined) query = query.where('state', '=', expected)
  return (await query.executeTakeFirst()).numUpdatedRows === 1n
}

export async function deleteJobsEndedBefore(database: CatalogDatabase, time: number): Promise<void> {
  await database.deleteFrom('table_jobs').where('endedAt', '<', time).execute()
}
