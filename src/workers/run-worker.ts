import type { Registry } from 'prom-client'
import type { GatewayOptions, RunningGateway } from '../gateway/bootstrap/start-gateway.ts'
import { readReadiness, type ReadinessCheck } from '../observability/health/readiness.ts'
import { collectMetrics } from './merge-metrics.ts'
import { openPrimaryChannel } from './primary-channel.ts'

/**
 * Serves until a stop request, or until the primary process is gone, then drains. Reports errors of `start` to the
 * primary process.
 */
export async function runWorker(start: (options: GatewayOptions) => Promise<RunningGateway>): Promise<void> {
  let registries: (() => readonly Registry[]) | undefined
  let checks: readonly ReadinessCheck[] = []
  const primary = openPrimaryChannel(async (about) => {
    if (about === 'readiness') return { readiness: await readReadiness(checks) }
    return about === 'metrics' ? { metrics: await collectMetrics(registries?.() ?? []) } : { heartbeat: true }
  })
  await primary.send({ type: 'listening' })
  const startMessage = await Promise.race([primary.startMessage, primary.stopped])
  if (startMessage === undefined) return primary.close()
  const { settings, adminUrl } = startMessage
  const { charge } = primary
  const setAdminSources = (
    getRegistries: () => readonly Registry[],
    readinessChecks: readonly ReadinessCheck[],
  ): void => {
    registries = getRegistries
    checks = readinessChecks
  }
  try {
    const gateway = await start({ settings, worker: { adminUrl, charge, setAdminSources } })
    await primary.send({ type: 'serving', url: gateway.url })
    await primary.stopped
    await gateway.close()
  } catch (error) {
    process.exitCode = 1
    await primary.send({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
  }
  primary.close()
}
