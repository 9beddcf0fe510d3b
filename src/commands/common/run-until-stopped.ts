import { stopSignals } from '../../lib/process/signals.ts'
import { createTerminalWatcher } from './watch-terminal.ts'

interface StoppableServer {
  readonly close: () => Promise<void>
  /** Printed when the server can be stopped; a reader may stop it at once. */
  readonly announcement?: string
  /** Called on SIGHUP; must not reject. */
  readonly reload: () => Promise<void>
}

/**
 * Runs a server until SIGINT, SIGTERM or SIGQUIT, until its terminal is closed or, in a child process, until its parent
 * is gone; then closes it. A second signal ends the process at once. SIGHUP reloads it, unless the terminal was closed.
 */
export async function runUntilStopped({ close, announcement = '', reload }: StoppableServer): Promise<void> {
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
    process.stdout.write(announcement)
  })
  for (const signal of stopSignals) process.once(signal, () => process.exit(1))
  await close()
  // An open channel would keep this process alive while the parent waits for its exit.
  if (process.connected) process.disconnect()
}
