import cluster from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import type { GatewaySettings } from '../config.ts'
import type { RunningGateway } from '../gateway/bootstrap/start-gateway.ts'
import { linesLost } from '../gateway/observe/observe-log.ts'
import { createAdminServer, listenOn } from '../telemetry/admin-server.ts'
import { openLog } from '../telemetry/log.ts'
import { processMetrics } from '../telemetry/process-metrics.ts'
import { observeReadiness } from '../telemetry/readiness.ts'
import { countCharges } from './count-charges.ts'
import { mergeMetrics, metricsIn, registryOf } from './merge-metrics.ts'
import { observeWorkers } from './observe-workers.ts'
import { createWorkerPlace, type WorkerPlace } from './worker-place.ts'
import { workerSettings } from './worker-settings.ts'

export { WorkerFailed } from './worker-process.ts'

/** How often a worker is looked at in the time that it may take to react. */
const looks = 10
/** What a worker that stops may take beyond delay and grace: for what is broken off, its audit log and its sinks. */
const lastMs = 30_000

/**
 * Starts a gateway of several processes. Each runs the command of this one and serves its share of the connections; this
 * one has the admin port, and lets another process follow on each that ends. Rejects when one of them cannot start at
 * the beginning, and then leaves none behind.
 */
export async function startWorkers(settings: GatewaySettings, count: number): Promise<RunningGateway> {
  const registry = new Registry()
  const { logger: log, ...gatewayLog } = openLog(settings.log.level, linesLost(registry))
  const places: WorkerPlace[] = []
  const serving = (): WorkerPlace[] => places.filter((place) => place.isServing())
  const { restarted } = observeWorkers(registry, () => serving().length)
  let state: string | undefined = 'the gateway is starting'
  const problem = (): string | undefined =>
    state ?? (serving().length > 0 ? undefined : 'no worker takes requests')
  observeReadiness(registry, [{ name: 'gateway', problem }])
  const admin = createAdminServer(
    async () => [await registryOfAll(registry, places)],
    async () => {
      const own = problem()
      return own === undefined ? problemsOfAll(serving()) : { gateway: own }
    },
  )
  const { workerHangMs, drainDelayMs, drainGraceMs } = settings.timeouts
  const looking = setInterval(() => {
    for (const place of places) place.look(workerHangMs / looks)
  }, workerHangMs / looks).unref()

  async function close(): Promise<void> {
    state = 'the gateway is shutting down'
    clearInterval(looking)
    // Whoever does not wait for this to be over does not leave workers behind.
    process.on('exit', killAll)
    await Promise.all(places.map((place) => place.stop(drainDelayMs + drainGraceMs + lastMs)))
    process.off('exit', killAll)
    await admin.close()
    await gatewayLog.close()
  }
  const killAll = (): void => places.forEach((place) => place.kill())

  try {
    const adminUrl = await listenOn(admin, settings.admin)
    const pageTokenSecret = randomBytes(32)
    const charge = countCharges()
    // Each worker takes connections itself. Measured: of 64 that are opened one after the other four workers take 22, 17,
    // 14 and 11. Node would share them out evenly, but what it hands to a worker that is killed or hangs it never closes,
    // and what is over the limit of all it hands on without end.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ serialization: 'advanced' })
    for (let number = 1; number <= count; number += 1) {
      const own = workerSettings(settings, number, count)
      const beginning = { what: 'begin', settings: own, adminUrl, pageTokenSecret } as const
      places.push(createWorkerPlace(number, { beginning, charge, hangMs: workerHangMs, log, restarted }))
    }
    // The first one by itself: it makes the keys of all, and what is wrong with the files of all is told once.
    const [first, ...others] = places
    const url = (await first?.begin()) ?? ''
    await Promise.all(others.map((place) => place.begin()))
    state = undefined
    const reload = async (): Promise<void> => places.forEach((place) => place.reload())
    return { url, adminUrl, reload, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function registryOfAll(own: Registry, places: readonly WorkerPlace[]): Promise<Registry> {
  const told = await Promise.all([
    metricsIn([processMetrics(), own]).then((metrics) => ({ worker: 'primary', metrics })),
    ...places.map(async (place) => ({ worker: String(place.number), metrics: await place.metrics() })),
  ])
  return registryOf(mergeMetrics(told))
}

/**
 * What is wrong with any worker that takes requests is wrong with all: nobody can keep requests from that one alone. One
 * that takes none, because it is being started, keeps them from nobody.
 */
async function problemsOfAll(serving: readonly WorkerPlace[]): Promise<Record<string, string>> {
  const all: Record<string, string> = {}
  const found = await Promise.all(serving.map((place) => place.problems()))
  for (const [index, place] of serving.entries()) {
    if (!place.isServing()) continue
    const problems = found[index] ?? { gateway: 'it does not react' }
    for (const [name, problem] of Object.entries(problems)) all[name] ??= `worker ${place.number}: ${problem}`
  }
  return all
}
