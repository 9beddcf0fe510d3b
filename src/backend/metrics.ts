import { Gauge, Histogram, Registry } from 'prom-client'
import type { CatalogContext } from './catalog/context.ts'
import { listUnfinishedJobs } from './database/jobs.ts'

/**
 * What the catalog counts and times, with the memory that is reserved for uploads. No label has a value that a caller can
 * choose.
 */
export function createMetrics(context: CatalogContext, getReservedBytes: () => number) {
  const registry = new Registry()
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
    startRequest() {
      const end = requests.startTimer()
      activeRequests.inc()
      return (operation: string, status: number): void => {
        end({ operation, status })
        activeRequests.dec()
      }
    },
  }
}
