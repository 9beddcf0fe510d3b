import { hostname } from 'node:os'
import { type AuditLog, openAuditLog, openSinks, type Retention, type Sinks } from '../../audit/index.ts'
import { version } from '../../version.ts'
import { exportAudit, exportSinks } from '../../observability/metrics/gauges.ts'
import { createAuditObserver, createSinkObserver } from '../../observability/observers.ts'
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
    observer: createSinkObserver(metrics, log, audit.sinks),
    outbound,
  })
  closers.push(() => sinks.close())
  exportSinks(metrics, sinks)
  const { maxAgeDays, maxBytes } = audit.retention
  const auditLog = await openAuditLog({
    ...audit,
    ...tuning.auditLog,
    retention: {
      maxAgeMs: maxAgeDays && maxAgeDays * 86_400_000,
      maxBytes,
      oldestNeededSegment: sinks.oldestNeededSegment,
      inDoubtIntents: unresolved,
    },
    gateway: hostname(),
    software: version,
    observer: createAuditObserver(metrics, log),
  })
  closers.push(() => auditLog.close())
  sinks.start(() => auditLog.durableEnd())
  exportAudit(metrics, auditLog, audit.folder)
  return { auditLog, sinks }
}
