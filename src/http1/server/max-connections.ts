import { readFile } from 'node:fs/promises'

/** Open files besides connections: logs, policies, other listeners. */
const reservedFiles = 256

/**
 * The number of downstream connections that the process may hold: `wanted`, or fewer if the system limits its open
 * files (known on Linux only). Beyond that limit no file could be opened and no connection accepted.
 * `clientConnections` files are reserved for upstream connections, but at most half of all: each request uses one of
 * both.
 */
export async function maxServerConnections(wanted: number, clientConnections: number): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const files = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  if (files === undefined) return wanted
  const available = Number(files) - reservedFiles
  return Math.max(1, Math.min(wanted, Math.max(available - clientConnections, Math.floor(available / 2))))
}
