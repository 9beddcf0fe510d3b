import { closeSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * Returns a function that reports whether the current terminal of this process was closed. Without a terminal, as under
 * a service manager, in a container or with nohup, it always returns false.
 */
export function createTerminalWatcher(): () => boolean {
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
