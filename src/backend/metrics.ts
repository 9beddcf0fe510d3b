import { Gauge, Histogram, Registry } from 'prom-client'
import type { CatalogContext } from './catalog/context.ts'
import { listUnfinishedJobs } from './database/jobs.ts'
import type { Storage } from './storage/storage.ts'

const requestSeconds = [0.005, 0.025, 0.1, 0.5, 2, 10, 60]
const stepSeconds = [0.0005, 0.002, 0.01, 0.05, 0.25, 1, 5]

/** What the catalog counts and times. No label has a value that a caller can choose. */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Histogram({
    name: 'catalog_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response, by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: requestSeconds,
    registers,
  })
  const activeRequests = new Gauge({
    name: 'catalog_active_requests',
    help: 'Requests that are being served.',
    registers,
  })
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
  const time = async <Result>(call: string, work: Promise<Result>): Promise<Result> => {
    const end = storageCalls.startTimer({ call })
    try {
      const result = await work
      end({ outcome: 'success' })
      return result
    } catch (error) {
      end({ outcome: 'error' })
      throw error
    }
  }
  return {
    registry,
    /** Returns a function that ends the request. */
    startRequest() {
      const end = requests.startTimer()
      activeRequests.inc()
      return (operation: string, status: number): void => {
        end({ operation, status })
        activeRequests.dec()
      }
    },
    /** A listener for the events of Kysely. */
    observeQuery: (event: {
      readonly level: 'query' | 'error'
      readonly queryDurationMillis: number
    }): void =>
      queries.observe(
        { outcome: event.level === 'query' ? 'success' : 'error' },
        event.queryDurationMillis / 1000,
      ),
    observeStorage: (storage: Storage): Storage => {
      return {
        ...storage,
        stat: (file) => time('stat', storage.stat(file)),
        read: (file, limit) => time('read', storage.read(file, limit)),
        create: (file, bytes) => time('create', storage.create(file, bytes)),
        link: (from, to, eTag) => time('link', storage.link(from, to, eTag)),
        flush: (file) => time('flush', storage.flush(file)),
        remove: (file) => time('remove', storage.remove(file)),
        removeAll: (folder, except) => time('remove_all', storage.removeAll(folder, except)),
      }
    },
    /** Adds the gauges of an open catalog. */
    observeCatalog(context: CatalogContext): void {
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
      const running: Gauge = new Gauge({
        name: 'catalog_running_jobs',
        help: 'Jobs that this process runs.',
        registers,
        collect: () => running.set(context.jobs.running),
      })
      const unfinished = new Gauge({
        name: 'catalog_unfinished_jobs',
        help: 'Queued and running jobs of all replicas.',
        registers,
        async collect() {
          unfinished.reset()
          const jobs = await listUnfinishedJobs(context.database).catch(() => undefined)
          if (jobs !== undefined) unfinished.set(jobs.length)
        },
      })
    },
    observeUploads(getReservedBytes: () => number): void {
      const memory: Gauge = new Gauge({
        name: 'catalog_upload_memory_bytes',
        help: 'Memory that is reserved for Arrow data of requests.',
        registers,
        collect: () => memory.set(getReservedBytes()),
      })
    },
  }
}

export type Metrics = ReturnType<typeof createMetrics>
