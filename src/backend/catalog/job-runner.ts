import { setTimeout } from 'node:timers/promises'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { Backoff, withTimeout } from 'catalog-gateway/lib'
import {
  deleteJobsEndedBefore,
  findJob,
  insertJob,
  listUnfinishedJobs,
  updateJob,
  type Job,
  type JobFailure,
  type JobResult,
  type NewJob,
} from '../database/jobs.ts'
import { findTableById, type TableEntry } from '../database/objects.ts'
import type { CatalogDatabase, JobTable } from '../database/schema.ts'
import type { Logger } from 'pino'
import { toCatalogError } from './known-errors.ts'
import type { Lock } from './locks.ts'
import { startLoop } from './start-loop.ts'

/** Jobs that this process runs at a time, each of another table; each may use all processors. */
const maxRunningJobs = 4
/** Queued and running jobs of all replicas. */
const maxUnfinishedJobs = 1000
/** A job that ends its process would otherwise start forever. */
const maxAttempts = 3
/** Finished jobs are forgotten after 7 days. */
const retentionMs = 7 * 24 * 60 * 60 * 1000
/** How often this process looks for jobs of replicas that died, and of tables that were locked. */
const pollIntervalMs = 5_000
/** The pauses between two looks at a job whose end is awaited. */
const endPauses = { minMs: 5, maxMs: 250 }
/** How long shutdown waits for running jobs. The engine cannot stop a change; the next process repeats the job. */
const closeTimeoutMs = 10_000

export type JobRunner = ReturnType<typeof startJobRunner>

/**
 * Runs the jobs in the database, also those that an ended process has left, in the order of their submission. The jobs of
 * a table run one after the other, in one replica at a time. `works` are by operation: each does the work of a job on its
 * table by one commit, is safe to repeat, and resolves with the result for clients.
 */
export function startJobRunner(
  database: CatalogDatabase,
  jobLock: Lock,
  log: Logger,
  works: Readonly<Record<string, (job: Job, table: TableEntry) => Promise<JobResult>>>,
) {
  /** By the table that the job changes. */
  const running = new Map<string, Promise<void>>()
  const search = startLoop(log, 'search for jobs', pollIntervalMs, searchJobs)

  async function searchJobs(stopped: AbortSignal): Promise<void> {
    if (stopped.aborted) return
    await deleteJobsEndedBefore(database, Date.now() - retentionMs)
    for (const { jobId, objectId } of await listUnfinishedJobs(database)) {
      if (running.size >= maxRunningJobs) return
      if (running.has(objectId)) continue
      // Until the job runs here, or does not: jobs of other replicas must not count as running here.
      await new Promise<void>((resolve) => {
        running.set(objectId, run(jobId, objectId, resolve).finally(resolve))
      })
    }
  }

  /** Never rejects. Calls `onStart` when it begins. Does nothing if the table is locked, as by a job of another replica. */
  async function run(jobId: string, objectId: string, onStart: () => void): Promise<void> {
    let hasRun = false
    try {
      await jobLock.runIfFree(objectId, async () => {
        const job = await findJob(database, jobId)
        if (job === undefined || job.endedAt !== null) return
        onStart()
        await execute(job)
        hasRun = true
      })
    } catch (error) {
      log.warn({ err: error, job: jobId }, 'job interrupted; it starts again later')
    }
    running.delete(objectId)
    // Otherwise the next poll looks again.
    if (hasRun) search.run()
  }

  async function execute(job: Job): Promise<void> {
    const { jobId, objectId, operation, attempts } = job
    const start = { state: 'running', attempts: attempts + 1, startedAt: Date.now() } as const
    if (!(await updateJob(database, jobId, start))) return
    let end: Partial<JobTable>
    try {
      const work = works[operation]
      if (work === undefined) throw new CatalogError('Unsupported', 'this catalog does not know the job')
      if (attempts >= maxAttempts)
        throw new CatalogError('Unsupported', `the process ended ${maxAttempts} times while it ran the job`)
      const table = await findTableById(database, objectId)
      if (table === undefined) throw new CatalogError('TableNotFound', 'the table was dropped')
      end = { state: 'finished', result: JSON.stringify(await work(job, table)) }
    } catch (error) {
      log.warn({ err: error, job: jobId, operation }, 'job failed')
      const { kind, message } = toCatalogError(error)
      end = { state: 'failed', failure: JSON.stringify({ kind, message } satisfies JobFailure) }
    }
    await updateJob(database, jobId, { ...end, endedAt: Date.now() })
  }

  return {
    /** How many jobs this process runs. */
    get running() {
      return running.size
    },
    /** Queues a job. Throws ServiceUnavailable (503) if too many are unfinished. Returns the id of the job. */
    async submit(job: NewJob): Promise<string> {
      if ((await listUnfinishedJobs(database)).length >= maxUnfinishedJobs) {
        throw new CatalogError('ServiceUnavailable', 'too many unfinished jobs; retry later', {
          headers: { 'retry-after': '10' },
        })
      }
      const jobId = await insertJob(database, job)
      search.run()
      return jobId
    },
    /** Returns the job when it has ended, or as it is after that time. Works for the jobs of all replicas. */
    async waitForEnd(jobId: string, timeoutMs: number): Promise<Job | undefined> {
      const deadline = Date.now() + timeoutMs
      const pauses = new Backoff(endPauses)
      for (;;) {
        const job = await findJob(database, jobId)
        if (job?.endedAt != null || Date.now() >= deadline) return job
        await setTimeout(pauses.next())
      }
    },
    /** Starts no more jobs, and waits for the running ones within bounds. */
    async close(): Promise<void> {
      await search.stop()
      await withTimeout(Promise.all(running.values()), closeTimeoutMs).catch(() => undefined)
    },
  }
}
