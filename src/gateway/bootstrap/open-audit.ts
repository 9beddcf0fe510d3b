import { hostname } from 'node:os'
import { openAuditLog, type AuditLog } from '../../audit/log/audit-log.ts'
import type { Retention } from '../../audit/log/retention.ts'
import { createAuditLogOptions } from '../../audit/log/audit-log-options.ts'
import { openSinks, type Sinks } from '../../audit/sinks/open-sinks.ts'
import { version } from '../../version.ts'
import {
  createAuditEventLogger,
  registerAuditHeadMetrics,
  registerAuditMetrics,
  registerAuditVolumeMetrics,
} from '../../observability/metrics/audit-metrics.ts'
import { registerSinkMetrics, createSinkObserver } from '../../observability/metrics/sink-metrics.ts'
import type { Bootstrap } from './open-observability.ts'

/** The audit log and the sinks of its records. */
interface OpenedAudit {
  readonly auditLog: AuditLog
  readonly sinks: Sinks
}

/**
 * Opens the audit log and its sinks. The sinks are opened first, so that retention removes nothing undelivered, and
 * closed last, so that they deliver the last records. Retention keeps the segments named by `unresolved`.
 */
export async function openAudit(
  { settings: { audit }, tuning, closers, metrics, log, outbound }: Bootstrap,
  unresolved: NonNullable<Retention['inDoubtIntents']>,
): Promise<OpenedAudit> {
  const sinks = await openSinks({
    folder: audit.folder,
    settings: audit.sinks,
    resource: { gateway: hostname(), software: version },
    observer: createSinkObserver(metrics.registry, log, audit.sinks),
    outbound,
  })
  closers.push(() => sinks.close())
  registerSinkMetrics(metrics.registry, sinks)
  const options = createAuditLogOptions(audit)
  const auditLog = await openAuditLog({
    ...options,
    ...tuning.auditLog,
    retention: {
      ...options.retention,
      oldestNeededSegment: sinks.oldestNeededSegment,
      inDoubtIntents: unresolved,
    },
    gateway: hostname(),
    software: version,
    observer: {
      flushed: (records, seconds) => {
        metrics.auditRecords.inc(records)
        metrics.auditFlushSeconds.observe(seconds)
        sinks.wake()
      },
      failed: () => metrics.auditFailures.inc(),
      dropped: () => metrics.auditDropped.inc(),
    },
    onEvent: createAuditEventLogger(metrics.registry, log),
  })
  closers.push(() => auditLog.close())
  sinks.start(() => auditLog.durableEnd())
  registerAuditHeadMetrics(metrics.registry, auditLog)
  registerAuditMetrics(metrics.registry, auditLog)
  registerAuditVolumeMetrics(metrics.registry, audit.folder)
  return { auditLog, sinks }
}
