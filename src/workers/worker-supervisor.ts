import { setTimeout as pause } from 'node:timers/promises'
import { Backoff } from '../lib/async/backoff.ts'
import type { Logger } from '../observability/log/gateway-log.ts'
import type { MetricData } from '../observability/metrics/metric-source.ts'
import { selectCounts, mergeMetrics } from './merge-metrics.ts'
import type { WorkerReports, StartMessage } from './worker-messages.ts'
import type { RestartReason } from './worker-metrics.ts'
import { forkWorker, type ChargeFunction, type WorkerProcess } from './worker-process.ts'

/** Restarts the process of a worker whenever it exits. */
export interface WorkerSupervisor {
  readonly number: number
  isServing(): boolean
  /** Resolves with the URL when the first process serves. Rejects if it cannot start, without a restart. */
  start(): Promise<string>
  /** Call it every `everyMs` milliseconds. Kills a process that is unresponsive for too long. */
  checkHeartbeat(everyMs: number): void
  readReadiness(): Promise<WorkerReports['readiness'] | undefined>
  /** Metrics of its process, including the counts of previous processes. */
  readMetrics(): Promise<readonly MetricData[]>
  reload(): void
  /** Stops the process gracefully, or kills it after `timeoutMs`; resolves when it has ended. */
  stop(timeoutMs: number): Promise<void>
  kill(): void
}

interface WorkerSupervisorOptions {
  readonly startMessage: StartMessage
  readonly charge: ChargeFunction
  readonly hangMs: number
  readonly log: Logger
  readonly onRestart: (reason: RestartReason) => void
}

const reportTimeoutMs = 2_000
/** Loading the program and its policies may block a process for longer. */
const startHangMs = 60_000
const restartDelays = { minMs: 100, maxMs: 30_000 }
/** After serving for this long, an exit resets the restart delay. */
const stableMs = 60_000

export function createWorkerSupervisor(number: number, options: WorkerSupervisorOptions): WorkerSupervisor {
  const { startMessage, hangMs, log, onRestart, charge } = options
  const stopping = new AbortController()
  let process: WorkerProcess | undefined
  let servingSince: number | undefined
  let unresponsiveMs = 0
  let latest: readonly MetricData[] = []
  let previousCounts: readonly MetricData[] = []
  let supervision: Promise<void> = Promise.resolve()

  const timeoutMs = (): number => (servingSince === undefined ? Math.max(hangMs, startHangMs) : hangMs)

  function launch(): WorkerProcess {
    unresponsiveMs = 0
    const launched = (process = forkWorker(startMessage, charge))
    launched.serving.then(
      () => (servingSince = performance.now()),
      () => undefined,
    )
    return launched
  }

  /** Begins to restart once the first process has served. */
  async function restartOnExit(first: WorkerProcess): Promise<void> {
    const delays = new Backoff(restartDelays)
    let hasServed = false
    for (let running = first; ; running = launch()) {
      const end = await running.ended
      hasServed ||= servingSince !== undefined
      if (stopping.signal.aborted || !hasServed) return
      if (servingSince !== undefined && performance.now() - servingSince > stableMs) delays.reset()
      const delayMs = Math.round(delays.next())
      reportExit(end, delayMs, await running.serving.catch((error: Error) => error))
      retireProcess()
      await pause(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return
    }
  }

  function reportExit(end: number | string, restartDelayMs: number, served: string | Error): void {
    const reason =
      unresponsiveMs > timeoutMs() ? 'unresponsive' : typeof served === 'string' ? 'exited' : 'start_failed'
    const error = served instanceof Error && served.message
    onRestart(reason)
    log.error(
      { worker: number, reason, exit: end, ...(error && { error }), restartDelayMs },
      'worker restarting',
    )
  }

  function retireProcess(): void {
    previousCounts = mergeMetrics(
      [previousCounts, selectCounts(latest)].map((metrics) => ({ worker: '', metrics })),
    )
    latest = []
    process = undefined
    servingSince = undefined
  }

  return {
    number,
    isServing: () => servingSince !== undefined && process?.isDead() === false,
    start() {
      const first = launch()
      supervision = restartOnExit(first)
      return first.serving
    },
    checkHeartbeat(everyMs) {
      const polled = process
      if (polled === undefined) return
      unresponsiveMs += everyMs
      if (unresponsiveMs > timeoutMs()) polled.kill()
      void polled.requestReport('heartbeat', hangMs).then((heartbeat) => {
        if (heartbeat !== undefined && polled === process) unresponsiveMs = 0
      })
    },
    readReadiness: async () => await process?.requestReport('readiness', reportTimeoutMs),
    async readMetrics() {
      const current = process
      const metrics = await current?.requestReport('metrics', reportTimeoutMs)
      if (metrics !== undefined && current === process) latest = metrics
      return mergeMetrics([latest, previousCounts].map((metrics) => ({ worker: String(number), metrics })))
    },
    reload: () => process?.reload(),
    async stop(timeoutMs) {
      stopping.abort()
      process?.stop()
      const timer = setTimeout(() => process?.kill(), timeoutMs)
      await supervision
      clearTimeout(timer)
    },
    kill: () => process?.kill(),
  }
}
