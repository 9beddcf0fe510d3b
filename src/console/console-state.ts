import type { AuditLog, Sinks } from '../audit/index.ts'
import { type ReadinessCheck, readReadiness } from '../observability/index.ts'
import type { PolicySet, RestrictionReport, RuleReference } from '../policy/index.ts'
import { version } from '../version.ts'

export interface ConsoleStateSource {
  /** URL of the catalog; undefined until the gateway listens. */
  url(): string | undefined
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
  readonly connections: number
  readonly maxConnections: number
}

export interface RefusedRequest {
  /** ISO 8601. */
  readonly time: string
  readonly stage: string
  readonly reason: string
  readonly status: number
  readonly operation: string
  /** As commands read it. */
  readonly id: string | undefined
  readonly principal: string | undefined
  readonly client: string
  readonly requestId: string
  /** Undefined if the policies did not refuse the request. */
  readonly denial: PolicyDenial | undefined
  /** What leaves the caller a part of the table. */
  readonly restrictedBy: readonly RestrictionReport[] | undefined
}

interface PolicyDenial {
  readonly permission: string
  /** As commands read it. */
  readonly id: string
  /** Undefined if no rule allows the request. */
  readonly rule: RuleReference | undefined
  /** The command that explains the decision. */
  readonly command: string
}

/** Times are in milliseconds since 1970. */
export async function readConsoleState(source: ConsoleStateSource) {
  const { revision, documents } = source.policies()
  const { writable, queued, dropped, unresolved, head } = source.audit.status()
  return {
    version,
    url: source.url(),
    now: Date.now(),
    startedAt: Date.now() - process.uptime() * 1000,
    readiness: await readReadiness(source.checks),
    upstreams: source.upstreams(),
    policies: { revision, documents: documents.length, loadedAt: (await source.policiesLoadedAt()) * 1000 },
    audit: {
      writable,
      queued,
      dropped,
      unresolved,
      head,
      sinks: source.sinks.status().map(({ sink, status: { lagRecords, lagSeconds } }) => ({
        name: sink,
        lagRecords,
        lagSeconds,
      })),
    },
  }
}
