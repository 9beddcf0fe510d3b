import type { Logger } from 'pino'

/**
 * Does `work` now, at intervals, and when `run` is called; one time after the other. An error is logged, and the next time
 * tries again. `stop` aborts the signal, and resolves when the current work has ended.
 */
export function startLoop(
  log: Logger,
  what: string,
  intervalMs: number,
  work: (stopped: AbortSignal) => Promise<void>,
) {
  const stopping = new AbortController()
  let current = Promise.resolve()
  const run = (): void => {
    current = current
      .then(() => work(stopping.signal))
      .catch((error: unknown) => log.warn({ err: error }, `${what} failed; retrying`))
  }
  const timer = setInterval(run, intervalMs).unref()
  run()
  return {
    run,
    stop: async (): Promise<void> => {
      stopping.abort()
      clearInterval(timer)
      await current
    },
  }
}
