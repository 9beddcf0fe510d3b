import { closeSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { Io } from './io.ts'

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const

/**
 * Prevents other signals from ending this process: SIGHUP reloads files, SIGUSR1 and SIGUSR2 have other uses in other
 * servers. On SIGUSR1, Node.js would also open its debugger to every user of the machine.
 */
export function ignoreOtherSignals(): void {
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined)
}

interface StoppableServer {
  readonly close: () => Promise<void>
  /** Printed when the server can be stopped; a reader may stop it at once. */
  readonly announcement?: string
  /** Called on SIGHUP; must not reject. */
  readonly reload: () => Promise<void>
}

/**
 * Runs a server until SIGINT, SIGTERM or SIGQUIT, until its terminal is closed or, in a child process, until its parent
 * ends; then closes it. A second signal ends the process at once. SIGHUP reloads it, unless the terminal was closed.
 */
export async function runUntilStopped(
  { stdout }: Io,
  { close, announcement = '', reload }: StoppableServer,
): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of stopSignals) process.once(signal, () => resolve())
    const isTerminalClosed = createTerminalWatcher()
    process.on('SIGHUP', () => {
      if (isTerminalClosed()) resolve()
      else void reload()
    })
    if (process.send !== undefined) {
      process.once('disconnect', () => resolve())
      if (!process.connected) resolve()
    }
    stdout.write(announcement)
  })
  for (const signal of stopSignals) process.once(signal, () => process.exit(1))
  await close()
  // An open channel would keep this process alive while the parent waits for its exit.
  if (process.connected) process.disconnect()
}

/**
 * Returns a function that reports whether the current terminal of this process was closed. Without a terminal, as under
 * a service manager, in a container or with nohup, it always returns false.
 */
function createTerminalWatcher(): () => boolean {
  const hadTerminal = isatty(0) && hasTerminal()
  return () => hadTerminal && !hasTerminal()
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
