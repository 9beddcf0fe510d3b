import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'

/** A program that runs in the background. It ends with this process at the latest. */
export interface Daemon {
  isRunning(): boolean
  /** The end of its log. */
  log(): string
  /** Resolves when it has ended. */
  close(): Promise<void>
}

/** Starts a program that writes its standard output and standard error to a log file. */
export function startDaemon(program: string, words: readonly string[], logFile: string): Daemon {
  const log = openSync(logFile, 'a')
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...words], { stdio: ['ignore', log, log] })
  closeSync(log)
  const isRunning = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  return {
    isRunning,
    log: () => readFileSync(logFile, 'utf8').slice(-4_000),
    async close() {
      if (!isRunning()) return
      const exited = once(child, 'exit')
      // Nothing needs to survive, and an API server takes its time to end in order.
      child.kill('SIGKILL')
      await exited
    },
  }
}
