import cluster from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import type { GatewaySettings } from '../config/gateway-settings.ts'
import type { RunningGateway } from '../gateway/bootstrap/start-gateway.ts'
import { registerLogMetrics } from '../observability/metrics/log-metrics.ts'
import { createAdminServer, listen } from '../observability/health/admin-server.ts'
import { openLog } from '../observability/log/gateway-log.ts'
import { getProcessMetrics } from '../observability/metrics/process-metrics.ts'
import { registerReadinessMetrics } from '../observability/health/readiness.ts'
import { createChargeCounter } from './charge-counter.ts'
import { mergeMetrics, metricsIn, registryOf } from './merge-metrics.ts'
import { createWorkerMetrics } from './worker-metrics.ts'
import { createWorkerSupervisor, type WorkerSupervisor } from './worker-supervisor.ts'
import { createWorkerSettings } from './settings-for-worker.ts'

export { WorkerStartFailed } from './worker-process.ts'

/** Heartbeat checks within the hang timeout. */
const checksPerHang = 10
/** Time to stop beyond delay and grace period: for aborted requests, the audit log and its sinks. */
const extraStopMs = 30_000

/**
 * Starts a gateway of several processes. Each runs the command of this one and serves part of the connections; this one
 * serves the admin port, and restarts workers that exit. Rejects if a worker cannot start at the beginning, and then
 * leaves none running.
 */
export async function startWorkers(settings: GatewaySettings, count: number): Promise<RunningGateway> {
  const registry = new Registry()
  const { logger: log, ...gatewayLog } = openLog(settings.log.level, registerLogMetrics(registry))
  const locations: WorkerSupervisor[] = []
  const serving = (): WorkerSupervisor[] => locations.filter((location) => location.isServing())
  const { countRestart: onRestart } = createWorkerMetrics(registry, () => serving().length)
  let state: string | undefined = 'the gateway is starting'
  const problem = (): string | undefined =>
    state ?? (serving().length > 0 ? undefined : 'no worker accepts requests')
  registerReadinessMetrics(registry, [{ name: 'gateway', problem }])
  const admin = createAdminServer(
    async () => [await mergeRegistries(registry, locations)],
    async () => {
      const own = problem()
      return own === undefined ? findWorkerProblems(serving()) : { gateway: own }
    },
  )
  const { workerTimeoutMs, drainDelayMs, drainTimeoutMs } = settings.timeouts
  const looking = setInterval(() => {
    for (const location of locations) location.checkHeartbeat(workerTimeoutMs / checksPerHang)
  }, workerTimeoutMs / checksPerHang).unref()

  async function close(): Promise<void> {
    state = 'the gateway is shutting down'
    clearInterval(looking)
    // No worker outlives this process.
    process.on('exit', killAll)
    await Promise.all(locations.map((location) => location.stop(drainDelayMs + drainTimeoutMs + extraStopMs)))
    process.off('exit', killAll)
    await admin.close()
    await gatewayLog.close()
  }
  const killAll = (): void => locations.forEach((location) => location.kill())

  try {
    const adminUrl = await listen(admin, settings.admin)
    const pageTokenSecret = randomBytes(32)
    const charge = createChargeCounter()
    // Workers accept connections themselves. Measured: of 64 connections opened in sequence, four workers accept 22,
    // 17, 14 and 11. Node's round-robin would balance them, but it never closes connections that it handed to a killed
    // or hanging worker, and passes on connections over the limit of all workers forever.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ serialization: 'advanced' })
    for (let number = 1; number <= count; number += 1) {
      const own = createWorkerSettings(settings, number, count)
      const startMessage = { what: 'begin', settings: own, adminUrl, pageTokenSecret } as const
      locations.push(
        createWorkerSupervisor(number, { startMessage, charge, hangMs: workerTimeoutMs, log, onRestart }),
      )
    }
    // The first worker starts alone: it creates shared keys, and errors in shared files are reported once.
    const [first, ...others] = locations
    const url = (await first?.start()) ?? ''
    await Promise.all(others.map((location) => location.start()))
    state = undefined
    const reload = async (): Promise<void> => locations.forEach((location) => location.reload())
    return { url, adminUrl, reload, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function mergeRegistries(own: Registry, locations: readonly WorkerSupervisor[]): Promise<Registry> {
  const reported = await Promise.all([
    metricsIn([getProcessMetrics(), own]).then((metrics) => ({ worker: 'primary', metrics })),
    ...locations.map(async (location) => ({
      worker: String(location.number),
      metrics: await location.readMetrics(),
    })),
  ])
  return registryOf(mergeMetrics(reported))
}

/**
 * A problem of any serving worker counts for the gateway, since its requests cannot be routed to others. A worker that
 * is starting receives none.
 */
async function findWorkerProblems(serving: readonly WorkerSupervisor[]): Promise<Record<string, string>> {
  const all: Record<string, string> = {}
  const found = await Promise.all(serving.map((location) => location.readProblems()))
  for (const [index, location] of serving.entries()) {
    if (!location.isServing()) continue
    const problems = found[index] ?? { gateway: 'unresponsive' }
    for (const [name, problem] of Object.entries(problems))
      all[name] ??= `worker ${location.number}: ${problem}`
  }
  return all
}
