import { hostname } from 'node:os'
import { openAuditLog, type AuditLog } from '../../audit/log.ts'
import type { Retention } from '../../audit/retention.ts'
import { auditOptions } from '../../audit/settings.ts'
import { openSinks, type Sinks } from '../../audit/sinks/open-sinks.ts'
import { version } from '../../version.ts'
import { logAuditNotes, observeAuditHead, observeAuditState } from '../observe/observe-audit.ts'
import { observeSinks, sinkObserver } from '../observe/observe-sinks.ts'
import type { Bootstrap } from './open-observability.ts'

/** The audit log, and the sinks that its records are delivered to. */
interface OpenedAudit {
  readonly auditLog: AuditLog
  readonly sinks: Sinks
}

/**
 * Opens the audit log and its sinks. The sinks are opened first, so that retention removes nothing that they have not
 * delivered, and closed last, so that they deliver the last records. Retention keeps what `unresolved` names.
 */
export async function openAudit(
  { settings: { audit }, closers, metrics, log }: Bootstrap,
  unresolved: NonNullable<Retention['lookedFor']>,
): Promise<OpenedAudit> {
  const sinks = await openSinks({
    folder: audit.folder,
    settings: audit.sinks,
    resource: { gateway: hostname(), software: version },
    observe: sinkObserver(metrics.registry, log),
  })
  closers.push(() => sinks.close())
  observeSinks(metrics.registry, sinks)
  const options = auditOptions(audit)
  const auditLog = await openAuditLog({
    ...options,
    retention: { ...options.retention, oldestNeeded: sinks.oldestNeeded, lookedFor: unresolved },
    gateway: hostname(),
    software: version,
    observe: {
      flushed: (records, seconds) => {
        metrics.auditRecords.inc(records)
        metrics.auditFlushSeconds.observe(seconds)
        sinks.wake()
      },
      failed: () => metrics.auditFailures.inc(),
      dropped: () => metrics.auditDropped.inc(),
    },
    noted: logAuditNotes(log, audit.logHeads),
  })
  closers.push(() => auditLog.close())
  sinks.start(() => auditLog.durableEnd())
  observeAuditHead(metrics.registry, auditLog)
  observeAuditState(metrics.registry, auditLog)
  return { auditLog, sinks }
}
