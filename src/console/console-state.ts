import type { AuditLog, Sinks } from '../audit/index.ts'
import { type ReadinessCheck, readReadiness } from '../observability/index.ts'
import type { PolicySet } from '../policy/index.ts'
import { formatPosition } from './audit/audit-entries.ts'
import { version } from '../version.ts'

export interface ConsoleStateSource {
  readonly checks: readonly ReadinessCheck[]
  upstreams(): readonly UpstreamState[]
  /** The policies in force. */
  policies(): PolicySet
  /** In seconds since 1970. */
  policiesLoadedAt(): Promise<number>
  readonly audit: Pick<AuditLog, 'status'>
  readonly sinks: Pick<Sinks, 'status'>
}

export interface UpstreamState {
  readonly name: string
  readonly origin: string
  /** Undefined for the default upstream. */
  readonly namespaces: readonly string[] | undefined
  readonly healthy: boolean
  readonly breaker: 'closed' | 'open'
  /** Requests that hold a connection. */
  readonly active: number
  readonly pending: number
}

/** Times are in milliseconds since 1970. */
export async function readConsoleState(source: ConsoleStateSource) {
  const { revision, documents } = source.policies()
  const { writable, dropped, unresolved, tampered, head } = source.audit.status()
  return {
    version,
    now: Date.now(),
    startedAt: Date.now() - process.uptime() * 1000,
    readiness: await readReadiness(source.checks),
    upstreams: source.upstreams(),
    policies: { revision, documents: documents.length, loadedAt: (await source.policiesLoadedAt()) * 1000 },
    audit: {
      writable,
      dropped,
      tampered,
      unresolved,
      head: formatPosition(head),
      sinks: source.sinks.status().map(({ sink, status: { lagRecords, lagSeconds } }) => ({
        name: sink,
        lagRecords,
        lagSeconds,
      })),
    },
  }
}
