import type { IntentEntry, CreatedVersion } from '../../audit/records/audit-record.ts'
import { getBranch } from '../../audit/in-doubt/table-history.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { fetchVersion } from './fetch-version.ts'
import { sendGatewayRequest } from './send-gateway-request.ts'

/** Fetches versions that responses to changes do not state. */
export interface VersionObserver {
  /**
   * Fetches the newest version of the branch of a change. Undefined if the upstream is busy, unreachable or slow, or
   * does not describe versions.
   */
  observe(entry: IntentEntry): Promise<CreatedVersion | undefined>
  /** Aborts the requests, and resolves when all have ended. */
  close(): Promise<void>
}

/** The client waits for its response during this time. */
const timeoutMs = 5_000

export function createVersionObserver(upstreams: readonly Upstream[]): VersionObserver {
  const byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]))
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()

  async function ask({ upstream: name, id, details }: IntentEntry): Promise<CreatedVersion | undefined> {
    const upstream = byName.get(name)
    if (upstream === undefined) return undefined
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)])
    try {
      const { found } = await fetchVersion({ id, branch: getBranch(details) }, (request) =>
        sendGatewayRequest(upstream, request, signal),
      )
      return typeof found === 'object' ? { ...found, observed: true } : undefined
    } catch {
      return undefined
    }
  }

  return {
    async observe(entry) {
      const requested = ask(entry)
      running.add(requested)
      const made = await requested
      running.delete(requested)
      return made
    },
    async close() {
      closing.abort()
      await Promise.all(running)
    },
  }
}
