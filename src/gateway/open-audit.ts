import { hostname } from 'node:os'
import { openAuditLog, type AuditLog } from '../audit/log.ts'
import type { Retention } from '../audit/retention.ts'
import { auditOptions } from '../audit/settings.ts'
import { openSinks, type Sinks } from '../audit/sinks/open-sinks.ts'
import type { GatewaySettings } from '../config.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { version } from '../version.ts'
import { logAuditNotes } from './observe/observe-audit.ts'
import { observeSinks, sinkObserver } from './observe/observe-sinks.ts'

/**
 * Opens where audit records go besides the file.
 * Before the log, so that it removes nothing that they still need; closed after it, so that they take the end too.
 */
export async function openAuditSinks(
  { audit }: GatewaySettings,
  metrics: Metrics,
  log: Logger,
): Promise<Sinks> {
  const sinks = await openSinks({
    folder: audit.folder,
    settings: audit.sinks,
    resource: { gateway: hostname(), software: version },
    observe: sinkObserver(metrics.registry, log),
  })
  observeSinks(metrics.registry, sinks)
  return sinks
}

/** Opens the audit log; what `lookedFor` names is not removed with old files. */
export function openAudit(
  { audit }: GatewaySettings,
  metrics: Metrics,
  log: Logger,
  sinks: Sinks,
  lookedFor: NonNullable<Retention['lookedFor']>,
): Promise<AuditLog> {
  const options = auditOptions(audit)
  return openAuditLog({
    ...options,
    retention: { ...options.retention, oldestNeeded: sinks.oldestNeeded, lookedFor },
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
    noted: logAuditNotes(log, audit.logSeals),
  })
}
