import { addConsole, type ConsoleSource } from '../../console/console.ts'
import { createAdminServer, listen } from '../../observability/health/admin-server.ts'
import { getProcessMetrics } from '../../observability/metrics/process-metrics.ts'
import {
  registerReadinessMetrics,
  readReadiness,
  type Readiness,
  type ReadinessCheck,
} from '../../observability/health/readiness.ts'
import type { Bootstrap } from './open-observability.ts'

/**
 * Opens the admin port with metrics, health and, given `console`, the console. `onReadinessAsked` is called for each
 * request for `/readyz`. Resolves with the URL of the port.
 */
export async function openAdmin(
  { settings, closers, metrics }: Bootstrap,
  checks: readonly ReadinessCheck[],
  console: ConsoleSource | undefined,
  onReadinessAsked: () => void,
): Promise<string> {
  const registries = [getProcessMetrics(), metrics.registry]
  registerReadinessMetrics(metrics.registry, checks)
  const findReadiness = (): Promise<Readiness> => {
    onReadinessAsked()
    return readReadiness(checks)
  }
  const admin = createAdminServer(registries, findReadiness, settings.admin)
  closers.push(() => admin.close())
  if (console !== undefined) await addConsole(admin, console)
  return listen(admin, settings.admin)
}
