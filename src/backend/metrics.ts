import { Gauge, Histogram, Registry } from 'prom-client'
import type { LogEvent } from 'kysely'
import type { CatalogContext } from './catalog/context.ts'
import { listUnfinishedJobs } from './database/jobs.ts'
import type { Storage } from './storage/storage.ts'

const stepSeconds = [0.0005, 0.002, 0.01, 0.05, 0.25, 1, 5]

/** Times the steps of all work: statements in the database, and calls to the storage. */
export function createStepMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const queries = new Histogram({
    name: 'catalog_database_query_duration_seconds',
    help: 'Time of a statement in the database, by outcome: success or error.',
    labelNames: ['outcome'],
    buckets: stepSeconds,
    registers,
  })
  const storageCalls = new Histogram({
    name: 'catalog_storage_call_duration_seconds',
    help: 'Time of a call of the catalog itself, not of the engine, to the storage, by call and outcome.',
    labelNames: ['call', 'outcome'],
    buckets: stepSeconds,
    registers,
  })
  const time = <Result>(call: string, work: Promise<Result>): Promise<Result> => {
    const end = storageCalls.startTimer({ call })
    work.then(
      () => end({ outcome: 'success' }),
      () => end({ outcome: 'error' }),
    )
    return work
  }
  return {
    registry,
    /** For the log of Kysely. */
    observeQuery: ({ level, queryDurationMillis }: LogEvent): void =>
      queries.observe({ outcome: level === 'query' ? 'success' : 'error' }, queryDurationMillis / 1000),
    observeStorage: (storage: Storage): Storage => ({
      ...storage,
      stat: (file) => time('stat', storage.stat(file)),
      read: (file, limit) => time('read', storage.read(file, limit)),
      create: (file, bytes) => time('create', storage.create(file, bytes)),
      link: (from, to, eTag) => time('link', storage.link(from, to, eTag)),
      flush: (file) => time('flush', storage.flush(file)),
      remove: (file) => time('remove', storage.remove(file)),
      removeAll: (folder, except) => time('remove_all', storage.removeAll(folder, except)),
    }),
  }
}

/**
 * Adds to the metrics of the context what the catalog counts and times, with the memory that is reserved for uploads. No
 * label has a value that a caller can choose.
 */
export function createMetrics(context: CatalogContext, getReservedBytes: () => number) {
  const { registry } = context
  const registers = [registry]
  const requests = new Histogram({
    name: 'catalog_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response, by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2, 10, 60],
    registers,
  })
  const activeRequests = new Gauge({
    name: 'catalog_active_requests',
    help: 'Requests that are being served.',
    registers,
  })
  const queues = new Gauge({
    name: 'catalog_lock_waiting',
    help: 'Changes that wait in this process for a lock of a location or a table.',
    labelNames: ['lock'],
    registers,
    collect() {
      for (const lock of ['location', 'data', 'commit', 'job'] as const)
        queues.set({ lock }, context[`${lock}Lock`].waiting)
    },
  })
  const observe = (name: string, help: string, read: () => number | Promise<number>): void => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers,
      collect: async () => gauge.set(await read()),
    })
  }
  observe('catalog_running_jobs', 'Jobs that this process runs.', () => context.jobs.running)
  observe('catalog_unfinished_jobs', 'Queued and running jobs of all replicas.', () =>
    listUnfinishedJobs(context.database).then(
      (jobs) => jobs.length,
      () => Number.NaN,
    ),
  )
  observe(
    'catalog_upload_memory_bytes',
    'Memory that is reserved for Arrow data of requests.',
    getReservedBytes,
  )
  return {
    registry,
    /** Returns a function that ends the request. */
    startRequest: () => {
      const end = requests.startTimer()
      activeRequests.inc()
      return (operation: string, status: number): void => {
        end({ operation, status })
        activeRequests.dec()
      }
    },
  }
}
