import { closeSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * Tells later whether the terminal that this process has now was closed. Without one, as under a service manager, in a
 * container or with nohup, the answer is always no.
 */
export function createTerminalWatcher(): () => boolean {
  const had = isatty(0) && hasTerminal()
  return () => had && !hasTerminal()
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
