import { readFile } from 'node:fs/promises'

/** For files, the log, the admin port and whatever else is open besides connections. */
const reserve = 256

/**
 * How many connections of clients a process may hold when it also holds so many to upstreams: no more than wanted,
 * and, where the system tells (Linux), no more than it may open files. Beyond that nothing could be opened any more,
 * neither a connection on the admin port nor a file.
 */
export async function connectionLimit(wanted: number, upstreamConnections: number): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const files = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  if (files === undefined) return wanted
  return Math.max(1, Math.min(wanted, Number(files) - upstreamConnections - reserve))
}
