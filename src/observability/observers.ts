import type { AuditObserver, SinkObserver } from '../audit/index.ts'
import type { SyncObserver } from '../limits/index.ts'
import { createThrottledLog, type Logger } from './log/gateway-log.ts'
import type { Metrics } from './metrics/metrics.ts'

/** Counts and logs events of the audit log. */
export function createAuditObserver(metrics: Metrics, log: Logger): AuditObserver {
  return {
    flushed(records, seconds) {
      metrics.audit_records_total.inc(records)
      metrics.audit_flush_duration_seconds.labels().observe(seconds)
    },
    failed: () => metrics.audit_write_failures_total.inc(),
    dropped: () => metrics.audit_records_dropped_total.inc(),
    tampered(file, change, lines) {
      metrics.audit_tampered_total.inc()
      log.error({ file, change, lines }, 'audit log tampered with')
    },
    keyGenerated: (publicKeyFile) => log.info({ publicKeyFile }, 'audit seal key created'),
    pruned: (files) => log.info({ files }, 'audit segments removed'),
    pruningFailed: (error) => log.error({ error: String(error) }, 'audit segment removal failed'),
    recovered: (repair) => log.warn({ ...repair }, 'audit log recovered'),
  }
}

/** A failing sink fails repeatedly. */
const maxLinesPerSecond = 1

/** Counts deliveries from 0 for each sink, so that the first rejected record is an increase, and logs failures. */
export function createSinkObserver(
  metrics: Metrics,
  log: Logger,
  sinks: readonly { readonly name: string }[],
): SinkObserver {
  const {
    audit_sink_records_delivered_total: delivered,
    audit_sink_delivery_failures_total: failures,
    audit_sink_records_rejected_total: rejected,
  } = metrics
  for (const { name: sink } of sinks)
    for (const each of [delivered, failures, rejected]) each.inc({ sink }, 0)
  const logThrottled = createThrottledLog(log, maxLinesPerSecond)
  return {
    delivered: (sink, records) => delivered.inc({ sink }, records),
    failed(sink, error) {
      failures.inc({ sink })
      logThrottled('warn', sink, { sink, error: String(error) }, 'audit delivery failed')
    },
    rejected(sink, records, message) {
      rejected.inc({ sink }, records)
      log.error({ sink, records, message }, 'audit records rejected')
    },
  }
}

/** Counts synchronizations of shared limits, and logs when they start and stop failing. */
export function createSyncObserver(metrics: Metrics, log: Logger): SyncObserver {
  let isConnected: boolean | undefined
  metrics.shared_limits_connected(() => (isConnected === undefined ? undefined : Number(isConnected)))
  return {
    synced(seconds) {
      metrics.shared_limits_sync_duration_seconds.labels().observe(seconds)
      if (isConnected === false) log.info('shared limits connected')
      isConnected = true
    },
    failed(error) {
      metrics.shared_limits_sync_failures_total.inc()
      if (isConnected !== false)
        log.warn({ error: String(error) }, 'shared limits unavailable: counting locally')
      isConnected = false
    },
  }
}
