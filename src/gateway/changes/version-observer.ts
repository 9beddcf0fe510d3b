import type { IntentEntry, CreatedVersion } from '../../audit/records/audit-record.ts'
import { getBranch } from '../../audit/resolution/table-history.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { fetchVersion } from './fetch-version.ts'

/** Asks upstreams for the versions that responses to changes do not state. */
export interface VersionObserver {
  /**
   * The newest version of the branch that a change names. Undefined if the upstream is busy, unreachable or slow, or
   * does not describe versions.
   */
  observe(entry: IntentEntry): Promise<CreatedVersion | undefined>
  /** Aborts the requests, and resolves when all of them have ended. */
  close(): Promise<void>
}

/** The client waits for its response meanwhile. */
const timeoutMs = 5_000

/** Creates an observer that asks these upstreams. */
export function createVersionObserver(upstreams: readonly Upstream[]): VersionObserver {
  const byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]))
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()

  async function ask({ upstream: name, id, details }: IntentEntry): Promise<CreatedVersion | undefined> {
    const upstream = byName.get(name)
    if (upstream === undefined) return undefined
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)])
    try {
      const { found } = await fetchVersion(upstream, { id, branch: getBranch(details) }, signal)
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
