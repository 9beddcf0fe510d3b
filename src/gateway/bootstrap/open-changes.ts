import type { AuditLog } from '../../audit/log/audit-log.ts'
import { startChangeTracking, type RunningChangeTracking } from '../changes/start-change-tracking.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Bootstrap } from './open-observability.ts'

/** Follows changes, and resolves those that the audit log holds in doubt. */
export async function openChanges(
  { settings, closers, metrics, log }: Bootstrap,
  audit: AuditLog,
  upstreams: readonly Upstream[],
): Promise<RunningChangeTracking> {
  const { registry } = metrics
  const changes = await startChangeTracking({ audit, settings: settings.audit, upstreams, registry, log })
  closers.push(() => changes.close())
  // Only now is it known which segments unresolved changes need.
  audit.prune()
  return changes
}
