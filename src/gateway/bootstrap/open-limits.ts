import { readFile } from 'node:fs/promises'
import {
  createLimits,
  createLoadShedder,
  FairCapacity,
  type SharedLimits,
  openSharedLimits,
} from '../../limits/index.ts'
import { RequestQueue } from '../../http1/index.ts'
import { createSyncObserver } from '../../observability/index.ts'
import { computeBodyMemory, passThroughBounds, upstreamBounds } from '../bounds.ts'
import { countListingConnections } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Bootstrap } from './open-observability.ts'

/**
 * Opens the limits. Throws if a file of the settings is unusable; an unresponsive server of shared limits delays the
 * start only briefly.
 */
export async function openLimits(
  { settings, tuning, closers, metrics, log, outbound }: Bootstrap,
  upstreams: Upstreams,
) {
  const { shared: sharing } = settings.limits
  const syncObserver = createSyncObserver(metrics, log)
  let shared: SharedLimits | undefined
  if (sharing !== undefined) {
    shared = await openSharedLimits(sharing, outbound, syncObserver, tuning.sharedLimitsTimeoutMs)
  }
  closers.push(() => shared?.close())
  const limits = createLimits(settings.limits, shared?.createBuckets)
  await shared?.start()
  const maxConnections = await allowedConnections({ settings, log })
  const bodyMemory = new FairCapacity(
    tuning.maxJsonMemoryBytes ?? computeBodyMemory(settings.limits.maxJsonBytes),
  )
  metrics.json_memory_bytes(() => bodyMemory.used)
  metrics.max_json_memory_bytes(() => bodyMemory.capacity)
  const requestQueue = new RequestQueue()
  const shedding = createLoadShedder(requestQueue, upstreams.all, tuning.loadSheddingThresholdMs)
  closers.push(() => shedding.close())
  metrics.load_shed_ratio(() => shedding.shedRatios().map(({ ratio, ...labels }) => [labels, ratio]))
  const activeRequests = new FairCapacity(maxConnections)
  return {
    limits,
    activeRequests,
    bodyMemory,
    shedding,
    /** Requests that were received and have not started. */
    requestQueue,
    maxConnections,
  }
}

/** Open files besides connections: logs, policies, other listeners. */
const reservedFiles = 256

/**
 * The maximum number of downstream connections: that of the settings, or fewer if the system limits open files (known on
 * Linux only). Files are reserved for upstream connections, but at most half of all: each request uses one of both.
 */
async function allowedConnections({ settings, log }: Pick<Bootstrap, 'settings' | 'log'>): Promise<number> {
  const { maxConnections: wanted } = settings.limits
  const systemLimits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const files = /^Max open files\s+(\d+)/m.exec(systemLimits)?.[1]
  if (files === undefined) return wanted
  const toUpstreams = settings.upstreams
    .map(
      ({ maxConnections }) =>
        maxConnections + countListingConnections(maxConnections) + upstreamBounds.maxBulkConnections,
    )
    .reduce((sum, count) => sum + count, 0)
  const available = Number(files) - reservedFiles - countPassThroughConnections(settings)
  const allowed = Math.max(1, available - toUpstreams, Math.floor(available / 2))
  if (allowed >= wanted) return wanted
  log.warn({ connections: allowed, wanted }, 'connection limit lowered: too few file descriptors')
  return allowed
}

function countPassThroughConnections({ passThrough }: Bootstrap['settings']): number {
  const { maxConnections, maxRequests } = passThroughBounds
  return passThrough === undefined ? 0 : maxConnections + passThrough.routes.length * maxRequests
}
