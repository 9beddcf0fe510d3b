import { stopSignals } from '../../lib/process/signals.ts'
import { createTerminalWatcher } from './watch-terminal.ts'

/** A server that runs until it is stopped. */
interface StoppableServer {
  readonly close: () => Promise<void>
  /** Printed when the server can be stopped: whoever reads it may do so at once. */
  readonly announcement?: string
  /** Called on SIGHUP; must not reject. */
  readonly reload: () => Promise<void>
}

/**
 * Keeps a server until somebody stops it with SIGINT, SIGTERM or SIGQUIT, its terminal is closed or, for a child
 * process, its parent is gone; then closes it. A second signal does not wait for requests that are still under way.
 * SIGHUP reloads it, unless it came because the terminal was closed.
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
  // The open channel would keep this process, while the parent waits for its end.
  if (process.connected) process.disconnect()
}
