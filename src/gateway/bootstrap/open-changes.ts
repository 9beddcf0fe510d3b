import type { AuditLog } from '../../audit/log/audit-log.ts'
import { startChangeTracking, type RunningChangeTracking } from '../changes/start-change-tracking.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Bootstrap } from './open-observability.ts'

/** Starts change tracking, and resolves in-doubt changes of the audit log. */
export async function openChanges(
  { settings, closers, metrics, log }: Bootstrap,
  audit: AuditLog,
  upstreams: readonly Upstream[],
): Promise<RunningChangeTracking> {
  const { registry } = metrics
  const changes = await startChangeTracking({ audit, settings: settings.audit, upstreams, registry, log })
  closers.push(() => changes.close())
  // The segments that unresolved changes need are known only now.
  audit.prune()
  return changes
}
