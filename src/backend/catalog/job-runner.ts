import { setTimeout } from 'node:timers/promises'
import { CatalogError } from 'catalog-gateway/catalog-api'
import { Backoff } from 'catalog-gateway/lib'
import {
  countUnfinishedJobs,
  deleteJobsEndedBefore,
  findJob,
  insertJob,
  listUnfinishedJobs,
  recordJobEnded,
  recordJobPostponed,
  recordJobStarted,
  type Job,
  type JobEnd,
  type JobResult,
  type NewJob,
  type UnfinishedJob,
} from '../database/jobs.ts'
import { findTableById, type TableEntry } from '../database/objects.ts'
import type { CatalogDatabase } from '../database/schema.ts'
import type { Logger } from 'pino'
import type { Lock } from './locks.ts'

/**
 * Does the work of a job; safe to repeat. Calls `beforeChange` directly before each change, and lets its error pass: the
 * job was cancelled, or this process stops. Resolves with the result for clients.
 */
export type JobWork = (job: Job, beforeChange: () => Promise<void>) => Promise<JobResult>

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
/** How long shutdown waits for running jobs. The engine cannot stop a change; it is complete or has no effect. */
const closeTimeoutMs = 10_000

class JobStopped extends Error {
  readonly isCancelled: boolean

  constructor(isCancelled: boolean) {
    super('the job was stopped')
    this.isCancelled = isCancelled
  }
}

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
    this.#timer = setInterval(() => this.startJobs(), pollIntervalMs).unref()
    this.startJobs()
  }

  /** Queues a job. Throws ServiceUnavailable (503) if too many are unfinished. Returns the id of the job. */
  async submit(job: NewJob): Promise<string> {
    const { database } = this.#context
    if ((await countUnfinishedJobs(database)) >= maxUnfinishedJobs) {
      throw new CatalogError('ServiceUnavailable', 'too many unfinished jobs; retry later', {
        headers: { 'retry-after': '10' },
      })
    }
    const jobId = await insertJob(database, job)
    this.startJobs()
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

  /** Starts no more jobs; running ones end before their next change, and start again with the next process. */
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
  startJobs(): void {
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
    if (this.#running.size >= maxRunningJobs) return
    for (const job of await listUnfinishedJobs(database)) {
      if (this.#running.size >= maxRunningJobs) return
      if (!this.#running.has(job.objectId)) await this.#start(job)
    }
  }

  /** Resolves when the job runs here, or does not: jobs of other replicas must not count as running here. */
  async #start(job: UnfinishedJob): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#running.set(job.objectId, this.#run(job, resolve).finally(resolve))
    })
  }

  /** Never rejects. Calls `onStart` when it begins. Does nothing if the table is locked, as by a job of another replica. */
  async #run({ jobId, objectId }: UnfinishedJob, onStart: () => void): Promise<void> {
    let hasRun = false
    try {
      await this.#context.jobLock.runIfFree(objectId, async () => {
        const job = await findJob(this.#context.database, jobId)
        if (job === undefined || job.endedAt !== undefined) return
        hasRun = true
        onStart()
        await this.#execute(job)
      })
    } catch (error) {
      this.#context.log.warn({ err: error, job: jobId }, 'job interrupted; it starts again later')
      hasRun = false
    }
    this.#running.delete(objectId)
    // Otherwise the next poll looks again.
    if (hasRun) this.startJobs()
  }

  async #execute(job: Job): Promise<void> {
    const { database } = this.#context
    if (job.attempts >= maxAttempts) {
      const message = `the process ended ${maxAttempts} times while it ran the job`
      const failure = { kind: 'Internal', message, retryable: false } as const
      await recordJobEnded(database, job.jobId, { state: 'failed', failure })
      return
    }
    await recordJobStarted(database, job.jobId)
    const end = await this.#work(job)
    if (end === undefined) await recordJobPostponed(database, job.jobId)
    else await recordJobEnded(database, job.jobId, end)
  }

  /** Returns undefined if the job is to start again later. */
  async #work(job: Job): Promise<JobEnd | undefined> {
    const work = this.#works[job.operation]
    try {
      if (work === undefined) throw new CatalogError('Unsupported', 'this catalog does not know the job')
      return { state: 'finished', result: await work(job, () => this.#beforeChange(job)) }
    } catch (error) {
      if (error instanceof JobStopped) return error.isCancelled ? { state: 'cancelled' } : undefined
      return this.#describeFailure(job, error)
    }
  }

  async #beforeChange({ jobId }: Job): Promise<void> {
    const job = await findJob(this.#context.database, jobId)
    if (job === undefined || job.isCancelRequested) throw new JobStopped(true)
    if (this.#isClosing) throw new JobStopped(false)
  }

  #describeFailure({ jobId, operation }: Job, error: unknown): JobEnd {
    this.#context.log.warn({ err: error, job: jobId, operation }, 'job failed')
    const kind = error instanceof CatalogError ? error.kind : 'Internal'
    const retryable = kind === 'ServiceUnavailable' || kind === 'ConcurrentModification'
    const isKnown = error instanceof CatalogError && kind !== 'Internal'
    const message = isKnown ? error.message : 'internal error; see the log of the catalog for this job'
    return { state: 'failed', failure: { kind, message, retryable } }
  }
}

/** Returns the table that a job changes. Throws TableNotFound (404) if it was dropped. */
export async function requireTableOfJob(database: CatalogDatabase, { objectId }: Job): Promise<TableEntry> {
  const table = await findTableById(database, objectId)
  if (table !== undefined) return table
  throw new CatalogError('TableNotFound', 'the table was dropped')
}
