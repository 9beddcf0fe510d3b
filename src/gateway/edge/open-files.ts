import { readFile } from 'node:fs/promises'

/** For files, the log, the admin port and whatever else is open besides connections. */
const reserve = 256

/**
 * How many connections of clients a process may hold beside those to upstreams: no more than wanted, and no more than
 * it may open files, if the system says how many (Linux). Beyond that nothing could be opened any more, neither a
 * connection on the admin port nor a file. A request takes at most one connection to an upstream, so that half of the
 * files are always enough for clients.
 */
export async function connectionLimit(wanted: number, upstreamConnections: number): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const files = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  if (files === undefined) return wanted
  const available = Number(files) - reserve
  return Math.max(1, Math.min(wanted, Math.max(available - upstreamConnections, Math.floor(available / 2))))
}
