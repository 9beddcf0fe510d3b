import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../telemetry/log.ts'
import { countedIn, mergeMetrics, type MetricData } from './merge-metrics.ts'
import type { Answers, Beginning } from './messages.ts'
import type { RestartReason } from './observe-workers.ts'
import { forkWorker, type Charged, type WorkerProcess } from './worker-process.ts'

/** The place of one worker: a process and, whenever it ends, the next one. */
export interface WorkerPlace {
  readonly number: number
  isServing(): boolean
  /** Starts the first process. Resolves with its URL when it serves; rejects when it cannot, and then starts no other. */
  begin(): Promise<string>
  /** Looks whether the process reacts; to be called every so many milliseconds. It is killed if it does not for too long. */
  look(everyMs: number): void
  /** What is not well with it; undefined where it does not answer. */
  problems(): Promise<Answers['problems'] | undefined>
  /** The metrics of its process, with what those before it have counted. */
  metrics(): Promise<readonly MetricData[]>
  /** Has the process read its files again. */
  reload(): void
  /** Has the process finish what is under way, but kills it after so many milliseconds; resolves when it has ended. */
  stop(patienceMs: number): Promise<void>
  /** Ends the process at once. */
  kill(): void
}

interface PlaceParts {
  readonly beginning: Beginning
  readonly charge: Charged
  readonly hangMs: number
  readonly log: Logger
  readonly restarted: (reason: RestartReason) => void
}

/** How long an answer is waited for. */
const answerMs = 2_000
/** While a process loads the program and its policies it need not react sooner. */
const startingHangMs = 60_000
const [firstPauseMs, longestPauseMs] = [100, 30_000]
/** After it has served for so long, the end of a process is no reason to wait longer than the first time. */
const provenMs = 60_000

/** A place whose first process is not started yet. */
export function createWorkerPlace(number: number, parts: PlaceParts): WorkerPlace {
  const { beginning, hangMs, log, restarted, charge } = parts
  const stopping = new AbortController()
  let process: WorkerProcess | undefined
  let servingSince: number | undefined
  let silentMs = 0
  /** What its process has told last, and what those before it have counted. */
  let latest: readonly MetricData[] = []
  let counted: readonly MetricData[] = []
  let kept: Promise<void> = Promise.resolve()

  const patienceMs = (): number => (servingSince === undefined ? Math.max(hangMs, startingHangMs) : hangMs)

  function launch(): WorkerProcess {
    silentMs = 0
    const launched = (process = forkWorker(beginning, charge))
    launched.serving.then(
      () => (servingSince = performance.now()),
      () => undefined,
    )
    return launched
  }

  /** Lets another process follow on each that ends, once the first has served. */
  async function keep(first: WorkerProcess): Promise<void> {
    let pauseMs = firstPauseMs
    let hasServed = false
    for (let running = first; ; running = launch()) {
      const end = await running.ended
      hasServed ||= servingSince !== undefined
      if (stopping.signal.aborted || !hasServed) return
      if (servingSince !== undefined && performance.now() - servingSince > provenMs) pauseMs = firstPauseMs
      tellOfEnd(end, pauseMs, await running.serving.catch((error: Error) => error))
      forget()
      await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    }
  }

  function tellOfEnd(end: number | string, restartDelayMs: number, served: string | Error): void {
    const reason =
      silentMs > patienceMs() ? 'unresponsive' : typeof served === 'string' ? 'exited' : 'start_failed'
    const error = served instanceof Error && served.message
    restarted(reason)
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
    begin() {
      const first = launch()
      kept = keep(first)
      return first.serving
    },
    look(everyMs) {
      const looked = process
      if (looked === undefined) return
      silentMs += everyMs
      if (silentMs > patienceMs()) looked.kill()
      void looked.ask('life', hangMs).then((answered) => {
        if (answered !== undefined && looked === process) silentMs = 0
      })
    },
    problems: async () => (await process?.ask('problems', answerMs))?.answer,
    async metrics() {
      const asked = process
      const answered = await asked?.ask('metrics', answerMs)
      if (answered !== undefined && asked === process) latest = answered.answer
      return mergeMetrics([latest, counted].map((metrics) => ({ worker: String(number), metrics })))
    },
    reload: () => process?.reload(),
    async stop(patienceMs) {
      stopping.abort()
      process?.stop()
      const timer = setTimeout(() => process?.kill(), patienceMs)
      await kept
      clearTimeout(timer)
    },
    kill: () => process?.kill(),
  }
}
