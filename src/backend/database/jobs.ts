import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { ErrorName } from 'catalog-gateway/catalog-api'
import type { Slice } from './objects.ts'
import type { CatalogDatabase, JobState } from './schema.ts'

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

interface JobFailure {
  readonly kind: ErrorName
  /** For clients: without paths and secrets. */
  readonly message: string
  readonly retryable: boolean
}

export interface Job extends NewJob {
  readonly jobId: string
  readonly state: JobState
  readonly isCancelRequested: boolean
  readonly attempts: number
  readonly result: JobResult | undefined
  readonly failure: JobFailure | undefined
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
}

export type JobSummary = Pick<Job, 'jobId' | 'operation' | 'path' | 'state' | 'createdAt'>

export type UnfinishedJob = Pick<Job, 'jobId' | 'objectId'>

export type JobEnd =
  | { readonly state: 'finished'; readonly result: JobResult }
  | { readonly state: 'failed'; readonly failure: JobFailure }
  | { readonly state: 'cancelled' }

/** Adds a queued job. Returns its random id. */
export async function insertJob(database: CatalogDatabase, job: NewJob): Promise<string> {
  const jobId = randomUUID()
  await database
    .insertInto('jobs')
    .values({
      job_id: jobId,
      operation: job.operation,
      object_id: job.objectId,
      path: job.path,
      request: JSON.stringify(job.request),
      state: 'queued',
      cancel_requested: 0,
      attempts: 0,
      created_at: Date.now(),
    })
    .execute()
  return jobId
}

export async function findJob(database: CatalogDatabase, jobId: string): Promise<Job | undefined> {
  const row = await database.selectFrom('jobs').selectAll().where('job_id', '=', jobId).executeTakeFirst()
  if (row === undefined) return undefined
  /* oxlint-disable typescript/no-unsafe-type-assertion -- only this file writes the columns */
  return {
    jobId: row.job_id,
    operation: row.operation,
    objectId: row.object_id,
    path: row.path,
    request: JSON.parse(row.request) as NewJob['request'],
    state: row.state,
    isCancelRequested: row.cancel_requested === 1,
    attempts: row.attempts,
    result: row.result === null ? undefined : (JSON.parse(row.result) as JobResult),
    failure: row.failure === null ? undefined : (JSON.parse(row.failure) as JobFailure),
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
  }
  /* oxlint-enable typescript/no-unsafe-type-assertion */
}

/** Lists jobs in the order of their ids. */
export async function listJobs(database: CatalogDatabase, { after, limit }: Slice): Promise<JobSummary[]> {
  let query = database
    .selectFrom('jobs')
    .select(['job_id as jobId', 'operation', 'path', 'state', 'created_at as createdAt'])
    .orderBy('job_id')
  if (after !== undefined) query = query.where('job_id', '>', after)
  if (limit !== undefined) query = query.limit(limit)
  return await query.execute()
}

/** Counts queued and running jobs. */
export async function countUnfinishedJobs(database: CatalogDatabase): Promise<number> {
  const row = await database
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Lists the queued and running jobs, the oldest first. */
export async function listUnfinishedJobs(database: CatalogDatabase): Promise<UnfinishedJob[]> {
  return await database
    .selectFrom('jobs')
    .select(['job_id as jobId', 'object_id as objectId'])
    .where('ended_at', 'is', null)
    .orderBy('created_at')
    .orderBy('job_id')
    .execute()
}

/** Returns the id of a queued or running job that does the same. */
export async function findSameJob(
  database: CatalogDatabase,
  { operation, objectId, request }: NewJob,
): Promise<string | undefined> {
  const found = await database
    .selectFrom('jobs')
    .select('job_id')
    .where('ended_at', 'is', null)
    .where('object_id', '=', objectId)
    .where('operation', '=', operation)
    .where('request', '=', JSON.stringify(request))
    .executeTakeFirst()
  return found?.job_id
}

export async function recordJobStarted(database: CatalogDatabase, jobId: string): Promise<void> {
  await database
    .updateTable('jobs')
    .set({ state: 'running', attempts: sql`attempts + 1`, started_at: Date.now() })
    .where('job_id', '=', jobId)
    .where('ended_at', 'is', null)
    .execute()
}

/** Returns a started job to the queue, and does not count the attempt. */
export async function recordJobPostponed(database: CatalogDatabase, jobId: string): Promise<void> {
  await database
    .updateTable('jobs')
    .set({ state: 'queued', attempts: sql`attempts - 1`, started_at: null })
    .where('job_id', '=', jobId)
    .where('ended_at', 'is', null)
    .execute()
}

export async function recordJobEnded(database: CatalogDatabase, jobId: string, end: JobEnd): Promise<void> {
  await database
    .updateTable('jobs')
    .set({
      state: end.state,
      ended_at: Date.now(),
      ...(end.state === 'finished' && { result: JSON.stringify(end.result) }),
      ...(end.state === 'failed' && { failure: JSON.stringify(end.failure) }),
    })
    .where('job_id', '=', jobId)
    .where('ended_at', 'is', null)
    .execute()
}

/** Ends a queued job; a running one ends before its next change, and one that has ended stays as it is. */
export async function cancelJob(database: CatalogDatabase, jobId: string): Promise<void> {
  await database
    .updateTable('jobs')
    .set({ state: 'cancelled', ended_at: Date.now(), cancel_requested: 1 })
    .where('job_id', '=', jobId)
    .where('state', '=', 'queued')
    .execute()
  await database
    .updateTable('jobs')
    .set({ cancel_requested: 1 })
    .where('job_id', '=', jobId)
    .where('ended_at', 'is', null)
    .execute()
}

export async function deleteJobsEndedBefore(database: CatalogDatabase, time: number): Promise<void> {
  await database.deleteFrom('jobs').where('ended_at', '<', time).execute()
}
