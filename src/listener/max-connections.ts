import { readFile } from 'node:fs/promises'

/** Open files besides connections: logs, policies, other listeners. */
const reservedFiles = 256

/**
 * Returns the maximum number of downstream connections: `configured`, or fewer if the system limits open files (known on
 * Linux only). Files are reserved for upstream connections, but at most half of all: each request uses one of both.
 */
export async function computeMaxConnections(
  configured: number,
  upstreamConnections: number,
): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const files = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  if (files === undefined) return configured
  const available = Number(files) - reservedFiles
  return Math.max(
    1,
    Math.min(configured, Math.max(available - upstreamConnections, Math.floor(available / 2))),
  )
}
