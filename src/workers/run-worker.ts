import type { Registry } from 'prom-client'
import type { GatewayOptions, RunningGateway } from '../gateway/bootstrap/start-gateway.ts'
import { findProblems, type ReadinessCheck } from '../observability/health/readiness.ts'
import { metricsIn } from './merge-metrics.ts'
import { openPrimaryChannel } from './primary-channel.ts'

/**
 * Serves as a worker until it is asked to stop or the primary process is gone, then drains. Errors of `start` are
 * reported to the primary process, which prints them.
 */
export async function runWorker(start: (options: GatewayOptions) => Promise<RunningGateway>): Promise<void> {
  let registries: (() => readonly Registry[]) | undefined
  let checks: readonly ReadinessCheck[] = []
  const primary = openPrimaryChannel(async (about) => {
    if (about === 'problems') return { problems: await findProblems(checks) }
    return about === 'metrics' ? { metrics: await metricsIn(registries?.() ?? []) } : { life: true }
  })
  await primary.send({ what: 'listening' })
  const startMessage = await Promise.race([primary.startMessage, primary.stopped])
  if (startMessage === undefined) return primary.close()
  const { settings, adminUrl, pageTokenSecret } = startMessage
  const { charge } = primary
  const follow = (gathered: () => readonly Registry[], checked: readonly ReadinessCheck[]): void => {
    registries = gathered
    checks = checked
  }
  try {
    const gateway = await start({ settings, worker: { adminUrl, pageTokenSecret, charge, follow } })
    await primary.send({ what: 'serving', url: gateway.url })
    await primary.stopped
    await gateway.close()
  } catch (error) {
    process.exitCode = 1
    await primary.send({ what: 'failed', message: error instanceof Error ? error.message : String(error) })
  }
  primary.close()
}
