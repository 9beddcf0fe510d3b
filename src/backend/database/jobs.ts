import { randomUUID } from 'node:crypto'
import { sql, type Selectable } from 'kysely'
import type { ErrorName } from 'catalog-gateway/catalog-api'
import type { CatalogDatabase, CatalogTables, JobState } from './schema.ts'

export interface NewJob {
  readonly operation: string
  /** The table that the job changes. */
  readonly objectId: string
  readonly path: string
  /** Parameters for the work; JSON. */
  readonly request: Readonly<Record<string, unknown>>
}

/** For clients; small, as listings of events read it. */
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

export type UnfinishedJob = Pick<Job, 'jobId' | 'objectId'>

export type JobSummary = Pick<Job, 'jobId' | 'operation' | 'path' | 'state' | 'createdAt'>

export type JobProgress = Pick<
  Job,
  'jobId' | 'operation' | 'state' | 'result' | 'createdAt' | 'startedAt' | 'endedAt'
>

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
  return row && toJob(row)
}

/** Lists jobs in the order of their ids. */
export async function listJobs(
  database: CatalogDatabase,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<JobSummary[]> {
  let query = database
    .selectFrom('jobs')
    .select(['job_id', 'operation', 'path', 'state', 'created_at'])
    .orderBy('job_id')
    .limit(limit)
  if (after !== undefined) query = query.where('job_id', '>', after)
  return (await query.execute()).map((row) => ({
    jobId: row.job_id,
    operation: row.operation,
    path: row.path,
    state: row.state,
    createdAt: row.created_at,
  }))
}

/** Lists the jobs that were created last, in no order. */
export async function listNewestJobs(database: CatalogDatabase, limit: number): Promise<JobProgress[]> {
  // Sorted in an index, as a sort of the rows would also read their requests, which may be large.
  const newest = database
    .selectFrom('jobs')
    .select('job_id')
    .orderBy('created_at', 'desc')
    .orderBy('job_id')
    .limit(limit)
  const rows = await database
    .selectFrom('jobs')
    .select(['job_id', 'operation', 'state', 'result', 'created_at', 'started_at', 'ended_at'])
    .where('job_id', 'in', newest)
    .execute()
  return rows.map(toProgress)
}

/** Counts queued and running jobs. */
export async function countUnfinishedJobs(database: CatalogDatabase): Promise<ReadonlyMap<JobState, number>> {
  const rows = await database
    .selectFrom('jobs')
    .select(['state', ({ fn }) => fn.countAll().as('count')])
    .where('ended_at', 'is', null)
    .groupBy('state')
    .execute()
  return new Map(rows.map(({ state, count }) => [state, Number(count)]))
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

function toJob(row: Selectable<CatalogTables['jobs']>): Job {
  /* oxlint-disable typescript/no-unsafe-type-assertion -- only this file writes the columns */
  return {
    ...toProgress(row),
    objectId: row.object_id,
    path: row.path,
    request: JSON.parse(row.request) as NewJob['request'],
    isCancelRequested: row.cancel_requested === 1,
    attempts: row.attempts,
    failure: row.failure === null ? undefined : (JSON.parse(row.failure) as JobFailure),
  }
  /* oxlint-enable typescript/no-unsafe-type-assertion */
}

type ProgressRow = Pick<
  Selectable<CatalogTables['jobs']>,
  'job_id' | 'operation' | 'state' | 'result' | 'created_at' | 'started_at' | 'ended_at'
>

function toProgress({ result, ...row }: ProgressRow): JobProgress {
  return {
    jobId: row.job_id,
    operation: row.operation,
    state: row.state,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this file writes the column
    result: result === null ? undefined : (JSON.parse(result) as NonNullable<Job['result']>),
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
  }
}
