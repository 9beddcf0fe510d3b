import type { Readiness } from '../observability/health/readiness.ts'
import type { RuleReference } from '../policy/engine/decision.ts'
import type { RestrictionReport } from '../policy/restrictions/restriction.ts'

export interface ConsoleState {
  readonly gateway: {
    readonly version: string
    /** URL of the catalog; undefined until the gateway listens. */
    readonly url: string | undefined
    /** Milliseconds since 1970. */
    readonly startedAt: number
    readonly now: number
  }
  /** What `/readyz` reports. */
  readonly readiness: Readiness
  readonly upstreams: readonly UpstreamState[]
  readonly policies: {
    readonly revision: string
    readonly documents: number
    readonly loadedAt: number
    /** Time of the first failed reload; undefined if the files are in force. */
    readonly failedAt: number | undefined
  }
  readonly audit: {
    readonly writable: boolean
    readonly queued: number
    readonly dropped: number
    readonly unresolved: number
    readonly head: { readonly chain: string; readonly seq: number; readonly hash: string }
    readonly sinks: readonly {
      readonly name: string
      readonly lagRecords: number
      readonly lagSeconds: number
    }[]
  }
}

interface UpstreamState {
  readonly name: string
  readonly origin: string
  /** Undefined for the default upstream. */
  readonly namespaces: readonly string[] | undefined
  readonly healthy: boolean
  readonly breaker: 'closed' | 'open'
  /** Requests that hold a connection: small ones, and those with a streamed body. */
  readonly active: { readonly small: number; readonly bulk: number }
  readonly pending: number
  readonly connections: number
  readonly maxConnections: number
}

export interface RefusedRequest {
  /** Milliseconds since 1970. */
  readonly time: number
  readonly stage: string
  readonly reason: string
  readonly status: number
  readonly operation: string
  /** As commands read it. */
  readonly id: string | undefined
  readonly principal: string | undefined
  readonly client: string
  readonly requestId: string
  /** What `policy explain` needs to explain the decision; undefined if the policies did not refuse the request. */
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
  readonly caller: {
    readonly isAnonymous: boolean
    readonly groups: readonly string[]
    readonly issuer: string | undefined
    /** Id of the API key. */
    readonly key: string | undefined
  }
  /** `name=value`. */
  readonly facts: readonly string[]
}
