import { setTimeout } from 'node:timers/promises'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { Backoff } from 'catalog-gateway/lib'
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
import type { CatalogDatabase, CatalogTables } from '../database/schema.ts'
import type { Updateable } from 'kysely'
import type { Logger } from 'pino'
import type { Lock } from './locks.ts'

/** Does the work of a job by one commit; safe to repeat. Resolves with the result for clients. */
export type JobWork = (job: Job) => Promise<JobResult>

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

interface JobContext {
  readonly database: CatalogDatabase
  readonly jobLock: Lock
  readonly log: Logger
}

/**
 * Runs the jobs in the database, in the order of their submission. The jobs of a table run one after the other, in one
 * replica at a time.
 */
export class JobRunner {
  readonly #context: JobContext
  readonly #works: Readonly<Record<string, JobWork>>
  /** By the table that the job changes. */
  readonly #running = new Map<string, Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #isClosing = false
  /** The current or last search for jobs. */
  #search = Promise.resolve()

  /** `works` are by operation. */
  constructor(context: JobContext, works: Readonly<Record<string, JobWork>>) {
    this.#context = context
    this.#works = works
  }

  /** How many jobs this process runs. */
  get running(): number {
    return this.#running.size
  }

  /** Starts the jobs that an ended process has left, and those to come. */
  start(): void {
    this.#timer = setInterval(() => this.#startJobs(), pollIntervalMs).unref()
    this.#startJobs()
  }

  /** Queues a job. Throws ServiceUnavailable (503) if too many are unfinished. Returns the id of the job. */
  async submit(job: NewJob): Promise<string> {
    const { database } = this.#context
    if ((await listUnfinishedJobs(database)).length >= maxUnfinishedJobs) {
      throw new CatalogError('ServiceUnavailable', 'too many unfinished jobs; retry later', {
        headers: { 'retry-after': '10' },
      })
    }
    const jobId = await insertJob(database, job)
    this.#startJobs()
    return jobId
  }

  /** Returns the job when it has ended, or as it is after that time. Works for the jobs of all replicas. */
  async waitForEnd(jobId: string, timeoutMs: number): Promise<Job | undefined> {
    const deadline = Date.now() + timeoutMs
    const pauses = new Backoff(endPauses)
    for (;;) {
      const job = await findJob(this.#context.database, jobId)
      if (job?.endedAt !== undefined || Date.now() >= deadline) return job
      await setTimeout(pauses.next())
    }
  }

  /** Starts no more jobs, and waits for the running ones within bounds. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#timer)
    await this.#search
    const timeout = new AbortController()
    await Promise.race([
      Promise.all(this.#running.values()),
      setTimeout(closeTimeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined),
    ])
    timeout.abort()
  }

  /** Starts queued jobs as far as this process may run more. */
  #startJobs(): void {
    this.#search = this.#search
      .then(() => this.#searchJobs())
      .catch((error: unknown) => {
        this.#context.log.warn({ err: error }, 'search for jobs failed; retrying')
      })
  }

  async #searchJobs(): Promise<void> {
    if (this.#isClosing) return
    const { database } = this.#context
    await deleteJobsEndedBefore(database, Date.now() - retentionMs)
    for (const { jobId, objectId } of await listUnfinishedJobs(database)) {
      if (this.#running.size >= maxRunningJobs) return
      if (this.#running.has(objectId)) continue
      // Until the job runs here, or does not: jobs of other replicas must not count as running here.
      await new Promise<void>((resolve) => {
        this.#running.set(objectId, this.#run(jobId, objectId, resolve).finally(resolve))
      })
    }
  }

  /** Never rejects. Calls `onStart` when it begins. Does nothing if the table is locked, as by a job of another replica. */
  async #run(jobId: string, objectId: string, onStart: () => void): Promise<void> {
    let hasRun = false
    try {
      await this.#context.jobLock.runIfFree(objectId, async () => {
        const job = await findJob(this.#context.database, jobId)
        if (job === undefined || job.endedAt !== undefined) return
        onStart()
        await this.#execute(job)
        hasRun = true
      })
    } catch (error) {
      this.#context.log.warn({ err: error, job: jobId }, 'job interrupted; it starts again later')
    }
    this.#running.delete(objectId)
    // Otherwise the next poll looks again.
    if (hasRun) this.#startJobs()
  }

  async #execute(job: Job): Promise<void> {
    const { database } = this.#context
    const { jobId, attempts } = job
    const start = { state: 'running', attempts: attempts + 1, started_at: Date.now() } as const
    if (!(await updateJob(database, jobId, start))) return
    const end = await this.#work(job)
    await updateJob(database, jobId, { ...end, ended_at: Date.now() })
  }

  async #work(
    job: Job,
  ): Promise<Pick<Updateable<CatalogTables['table_jobs']>, 'state' | 'result' | 'failure'>> {
    const { jobId, operation, attempts } = job
    const work = this.#works[operation]
    try {
      if (work === undefined) throw new CatalogError('Unsupported', 'this catalog does not know the job')
      if (attempts >= maxAttempts)
        throw new CatalogError('Unsupported', `the process ended ${maxAttempts} times while it ran the job`)
      return { state: 'finished', result: JSON.stringify(await work(job)) }
    } catch (error) {
      this.#context.log.warn({ err: error, job: jobId, operation }, 'job failed')
      return { state: 'failed', failure: JSON.stringify(describeFailure(error)) }
    }
  }
}

function describeFailure(error: unknown): JobFailure {
  const kind = error instanceof CatalogError ? error.kind : 'Internal'
  const retryable = kind === 'ServiceUnavailable' || kind === 'ConcurrentModification'
  const isKnown = error instanceof CatalogError && kind !== 'Internal'
  const message = isKnown ? error.message : 'internal error; see the log of the catalog for this job'
  return { kind, message, retryable }
}

/** Returns the table that a job changes. Throws TableNotFound (404) if it was dropped. */
export async function requireTableOfJob(database: CatalogDatabase, { objectId }: Job): Promise<TableEntry> {
  const table = await findTableById(database, objectId)
  if (table !== undefined) return table
  throw new CatalogError('TableNotFound', 'the table was dropped')
}
