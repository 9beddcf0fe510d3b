import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { SyncObserver } from '../../limits/shared/bucket-sync.ts'
import type { Logger } from '../log/gateway-log.ts'

const syncDurationBuckets = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1]

/** Counts synchronizations of shared limits, and logs when they start and stop failing. */
export function registerSharedLimitsMetrics(registry: Registry, log: Logger): SyncObserver {
  const registers = [registry]
  const durations = new Histogram({
    name: 'catalog_gateway_shared_limits_sync_duration_seconds',
    help: 'Time of one synchronization of shared limits; requests do not wait for it.',
    buckets: syncDurationBuckets,
    registers,
  })
  const failures = new Counter({
    name: 'catalog_gateway_shared_limits_sync_failures_total',
    help: 'Failed synchronizations of shared limits, failed connections included.',
    registers,
  })
  const gauge = new Gauge({
    name: 'catalog_gateway_shared_limits_connected',
    help: 'Whether limits are shared with other gateways (1) or the connection is lost (0); absent if limits are not shared.',
    registers: [],
  })
  // The default of a gauge, 0, would mean that the limits cannot be shared.
  gauge.remove()
  registry.registerMetric(gauge)
  let isFailing = false
  return {
    synced(seconds) {
      durations.observe(seconds)
      gauge.set(1)
      if (isFailing) log.info('shared limits connected')
      isFailing = false
    },
    failed(error) {
      failures.inc()
      gauge.set(0)
      if (!isFailing) log.warn({ error: String(error) }, 'shared limits unavailable: counting locally')
      isFailing = true
    },
  }
}
