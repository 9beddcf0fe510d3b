import cluster from 'node:cluster'
import { Registry } from 'prom-client'
import type { GatewaySettings } from '../config/gateway-settings.ts'
import type { RunningGateway } from '../gateway/bootstrap/start-gateway.ts'
import { registerLogMetrics } from '../observability/metrics/log-metrics.ts'
import { createAdminServer, listen } from '../observability/health/admin-server.ts'
import { openLog } from '../observability/log/gateway-log.ts'
import { getProcessMetrics } from '../observability/metrics/process-metrics.ts'
import { registerReadinessMetrics, type Readiness } from '../observability/health/readiness.ts'
import { mergeMetrics, collectMetrics, createMetricsRegistry } from './merge-metrics.ts'
import { createWorkerMetrics } from './worker-metrics.ts'
import { createWorkerSupervisor, type WorkerSupervisor } from './worker-supervisor.ts'
import { createWorkerSettings } from './settings-for-worker.ts'
import { createBuckets } from '../limits/token-buckets.ts'
import type { Charge } from '../limits/shared/shared-buckets.ts'

/** As many keys as several limits may hold in one process. */
const maxKeys = 1_000_000

export { WorkerStartFailed } from './worker-process.ts'

/** A worker that is unresponsive for this long is killed and replaced. */
const workerTimeoutMs = 30_000
/** Within the timeout of a worker. */
const checksPerTimeout = 10
/** Time to stop beyond delay and grace period: for aborted requests, the audit log and its sinks. */
const extraStopMs = 30_000

/**
 * Each worker runs the command of this process. This one serves the admin port and restarts workers that exit. Rejects
 * if a worker cannot start at the beginning, and then leaves none running.
 */
export async function startWorkers(settings: GatewaySettings, count: number): Promise<RunningGateway> {
  const registry = new Registry()
  const { logger: log, ...gatewayLog } = openLog(settings.log, registerLogMetrics(registry))
  const supervisors: WorkerSupervisor[] = []
  const listServing = (): WorkerSupervisor[] => supervisors.filter((supervisor) => supervisor.isServing())
  const { countRestart: onRestart } = createWorkerMetrics(registry, () => listServing().length)
  let lifecycleProblem: string | undefined = 'the gateway is starting'
  const findProblem = (): string | undefined =>
    lifecycleProblem ?? (listServing().length > 0 ? undefined : 'no worker accepts requests')
  registerReadinessMetrics(registry, [{ name: 'gateway', findProblem }])
  const admin = createAdminServer(
    async () => [await mergeRegistries(registry, supervisors)],
    async () => {
      const own = findProblem()
      return own === undefined ? mergeReadiness(listServing()) : { problems: { gateway: own }, warnings: {} }
    },
    settings.admin,
  )
  const { drainDelayMs, drainTimeoutMs } = settings.timeouts
  const heartbeatTimer = setInterval(() => {
    for (const supervisor of supervisors) supervisor.checkHeartbeat(workerTimeoutMs / checksPerTimeout)
  }, workerTimeoutMs / checksPerTimeout).unref()

  async function close(): Promise<void> {
    lifecycleProblem = 'the gateway is shutting down'
    clearInterval(heartbeatTimer)
    // No worker outlives this process.
    process.on('exit', killAll)
    await Promise.all(
      supervisors.map((supervisor) => supervisor.stop(drainDelayMs + drainTimeoutMs + extraStopMs)),
    )
    process.off('exit', killAll)
    await admin.close()
    await gatewayLog.close()
  }
  const killAll = (): void => supervisors.forEach((supervisor) => supervisor.kill())

  try {
    const adminUrl = await listen(admin, settings.admin)
    const charge = createChargeCounter()
    // Workers accept connections themselves: of 64, four workers accepted 22, 17, 14 and 11. Node's round-robin would
    // balance them, but never closes connections that it handed to a killed or hanging worker, and passes on
    // connections over the limit of all workers forever.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ serialization: 'advanced' })
    for (let number = 1; number <= count; number += 1) {
      const own = createWorkerSettings(settings, number, count)
      const startMessage = { type: 'start', settings: own, adminUrl } as const
      supervisors.push(
        createWorkerSupervisor(number, { startMessage, charge, hangMs: workerTimeoutMs, log, onRestart }),
      )
    }
    // The first worker starts alone: it creates shared keys, and errors in shared files are reported once.
    const [first, ...others] = supervisors
    const url = (await first?.start()) ?? ''
    await Promise.all(others.map((supervisor) => supervisor.start()))
    lifecycleProblem = undefined
    const reload = async (): Promise<void> => supervisors.forEach((supervisor) => supervisor.reload())
    return { url, adminUrl, reload, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function mergeRegistries(own: Registry, supervisors: readonly WorkerSupervisor[]): Promise<Registry> {
  const reported = await Promise.all([
    collectMetrics([getProcessMetrics(), own]).then((metrics) => ({ worker: 'primary', metrics })),
    ...supervisors.map(async (supervisor) => ({
      worker: String(supervisor.number),
      metrics: await supervisor.readMetrics(),
    })),
  ])
  return createMetricsRegistry(mergeMetrics(reported))
}

/** A problem of any serving worker counts for the gateway: the requests of that worker cannot be routed to others. */
async function mergeReadiness(serving: readonly WorkerSupervisor[]): Promise<Readiness> {
  const merged = { problems: {}, warnings: {} } as Record<keyof Readiness, Record<string, string>>
  const found = await Promise.all(serving.map((supervisor) => supervisor.readReadiness()))
  for (const [index, supervisor] of serving.entries()) {
    if (!supervisor.isServing()) continue
    const readiness = found[index] ?? { problems: { gateway: 'unresponsive' }, warnings: {} }
    for (const kind of ['problems', 'warnings'] as const) {
      for (const [name, problem] of Object.entries(readiness[kind]))
        merged[kind][name] ??= `worker ${supervisor.number}: ${problem}`
    }
  }
  return merged
}

/** Adds charges, and returns the milliseconds until each bucket is full. An evicted bucket counts as full. */
function createChargeCounter(): (charges: readonly Charge[]) => readonly number[] {
  // One token is one millisecond, whatever the unit of the limit. These buckets only count; they never refuse.
  const buckets = createBuckets({ perSecond: 1000, burst: 0, maxKeys })
  return (charges) => {
    const now = performance.now()
    return charges.map(({ key, ms }) => {
      if (ms !== 0) buckets.take(key, ms, now)
      return buckets.waitMs(key, 0, now)
    })
  }
}
