import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../observability/log/gateway-log.ts'
import type { MetricData } from '../observability/metrics/metric-source.ts'
import { countedIn, mergeMetrics } from './merge-metrics.ts'
import type { WorkerReports, StartMessage } from './worker-messages.ts'
import type { RestartReason } from './worker-metrics.ts'
import { forkWorker, type ChargeFunction, type WorkerProcess } from './worker-process.ts'

/** Runs one worker: restarts its process whenever it exits. */
export interface WorkerSupervisor {
  readonly number: number
  isServing(): boolean
  /** Starts the first process. Resolves with its URL when it serves. Rejects if it cannot start, without a restart. */
  start(): Promise<string>
  /**
   * Checks the heartbeat; call it every `everyMs` milliseconds. Kills the process if it is unresponsive for too long.
   */
  checkHeartbeat(everyMs: number): void
  /** Problems of the worker; undefined without a response. */
  readProblems(): Promise<WorkerReports['problems'] | undefined>
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
const [firstPauseMs, longestPauseMs] = [100, 30_000]
/** After serving for this long, an exit resets the restart delay. */
const stableMs = 60_000

/** Creates a supervisor whose first process is not started yet. */
export function createWorkerSupervisor(number: number, parts: WorkerSupervisorOptions): WorkerSupervisor {
  const { startMessage, hangMs, log, onRestart, charge } = parts
  const stopping = new AbortController()
  let process: WorkerProcess | undefined
  let servingSince: number | undefined
  let silentMs = 0
  /** Last metrics of its process, and counts of previous ones. */
  let latest: readonly MetricData[] = []
  let counted: readonly MetricData[] = []
  let supervision: Promise<void> = Promise.resolve()

  const timeoutMs = (): number => (servingSince === undefined ? Math.max(hangMs, startHangMs) : hangMs)

  function launch(): WorkerProcess {
    silentMs = 0
    const launched = (process = forkWorker(startMessage, charge))
    launched.serving.then(
      () => (servingSince = performance.now()),
      () => undefined,
    )
    return launched
  }

  /** Restarts the worker after each exit, once the first process has served. */
  async function restartOnExit(first: WorkerProcess): Promise<void> {
    let pauseMs = firstPauseMs
    let hasServed = false
    for (let running = first; ; running = launch()) {
      const end = await running.ended
      hasServed ||= servingSince !== undefined
      if (stopping.signal.aborted || !hasServed) return
      if (servingSince !== undefined && performance.now() - servingSince > stableMs) pauseMs = firstPauseMs
      reportExit(end, pauseMs, await running.serving.catch((error: Error) => error))
      forget()
      await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    }
  }

  function reportExit(end: number | string, restartDelayMs: number, served: string | Error): void {
    const reason =
      silentMs > timeoutMs() ? 'unresponsive' : typeof served === 'string' ? 'exited' : 'start_failed'
    const error = served instanceof Error && served.message
    onRestart(reason)
    log.error(
      { worker: number, reason, exit: end, ...(error && { error }), restartDelayMs },
      'worker restarting',
    )
  }

  function forget(): void {
    counted = mergeMetrics([counted, countedIn(latest)].map((metrics) => ({ worker: '', metrics })))
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
      silentMs += everyMs
      if (silentMs > timeoutMs()) polled.kill()
      void polled.requestReport('life', hangMs).then((life) => {
        if (life !== undefined && polled === process) silentMs = 0
      })
    },
    readProblems: async () => await process?.requestReport('problems', reportTimeoutMs),
    async readMetrics() {
      const current = process
      const metrics = await current?.requestReport('metrics', reportTimeoutMs)
      if (metrics !== undefined && current === process) latest = metrics
      return mergeMetrics([latest, counted].map((metrics) => ({ worker: String(number), metrics })))
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
