import type { RuleReference } from '../policy/engine/decision.ts'
import type { RestrictionReport } from '../policy/restrictions/restriction.ts'
import { getTop, sumByName, WindowCounts, type CountedSlot, type NamedCounts } from './window-counts.ts'

/** Decision of the policies on a request; `none` if they were not evaluated. */
type TrafficDecision = 'allow' | 'deny' | 'none'

export interface ServedRequest {
  readonly operation: string
  readonly status: number
  readonly decision: TrafficDecision
  readonly durationMs: number
  /** Undefined if the request was refused before one was chosen. */
  readonly upstream: string | undefined
  /** Undefined if the request was refused before it was authenticated. */
  readonly principal: string | undefined
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

interface TrafficSecond {
  readonly allow: number
  readonly deny: number
  readonly none: number
}

export interface TrafficSummary {
  /** The last complete seconds, oldest first. */
  readonly seconds: readonly TrafficSecond[]
  /** Responses in these seconds by status. */
  readonly statuses: readonly { readonly status: number; readonly count: number }[]
  /** Durations of the newest requests, in milliseconds; the most frequent operation first. */
  readonly operations: readonly OperationSummary[]
  readonly sampledRequests: number
  readonly lastHour: {
    readonly upstreams: readonly NamedCounts[]
    readonly principals: readonly NamedCounts[]
  }
  readonly refusals: {
    /** Since the start, the most frequent first. */
    readonly counts: readonly { readonly stage: string; readonly reason: string; readonly count: number }[]
    readonly newest: readonly RefusedRequest[]
  }
}

interface OperationSummary {
  readonly operation: string
  readonly count: number
  readonly p50: number
  readonly p99: number
}

/** Records recent traffic in a fixed amount of memory. */
export interface Traffic {
  addRequest(request: ServedRequest): void
  addRefusal(refusal: RefusedRequest): void
  getSummary(): TrafficSummary
}

const shownSeconds = 120
const shownMinutes = 60
const maxDurations = 4096
const maxRefusals = 50

/** `now` returns monotonic milliseconds. */
export function createTraffic(now: () => number = () => performance.now()): Traffic {
  // One more than shown: the current second is incomplete.
  const decisions = new WindowCounts(1_000, shownSeconds + 1, now)
  const statuses = new WindowCounts(1_000, shownSeconds + 1, now)
  const upstreams = new WindowCounts(60_000, shownMinutes, now)
  const principals = new WindowCounts(60_000, shownMinutes, now)
  const durations = new Float64Array(maxDurations)
  const operations: string[] = []
  const counts = new Map<string, { readonly stage: string; readonly reason: string; count: number }>()
  const newest: RefusedRequest[] = []
  let requests = 0

  return {
    addRequest({ operation, status, decision, durationMs, upstream, principal }) {
      decisions.add(decision)
      statuses.add(String(status))
      durations[requests % maxDurations] = durationMs
      operations[requests % maxDurations] = operation
      requests += 1
      if (upstream !== undefined) upstreams.add(upstream)
      if (principal !== undefined) principals.add(principal)
    },
    addRefusal(refusal) {
      const { stage, reason } = refusal
      const key = `${stage} ${reason}`
      const counted = counts.get(key) ?? { stage, reason, count: 0 }
      counted.count += 1
      counts.set(key, counted)
      newest.unshift(refusal)
      if (newest.length > maxRefusals) newest.pop()
    },
    getSummary() {
      return {
        seconds: decisions.list().slice(0, -1).map(toSecond),
        statuses: [...sumByName(statuses.list().slice(0, -1))]
          .map(([status, count]) => ({ status: Number(status), count }))
          .toSorted((one, other) => one.status - other.status),
        operations: summarizeOperations(operations, durations),
        sampledRequests: operations.length,
        lastHour: { upstreams: getTop(upstreams.list()), principals: getTop(principals.list()) },
        refusals: {
          counts: [...counts.values()].toSorted((one, other) => other.count - one.count),
          newest: [...newest],
        },
      }
    },
  }
}

function toSecond({ names }: CountedSlot): TrafficSecond {
  const count = (decision: TrafficDecision): number => names.get(decision) ?? 0
  return { allow: count('allow'), deny: count('deny'), none: count('none') }
}

function summarizeOperations(
  operations: readonly string[],
  durations: Float64Array,
): readonly OperationSummary[] {
  const byOperation = new Map<string, number[]>()
  for (const [index, operation] of operations.entries()) {
    const own = byOperation.get(operation) ?? []
    own.push(durations[index] ?? 0)
    byOperation.set(operation, own)
  }
  return [...byOperation]
    .map(([operation, own]) => {
      const sorted = Float64Array.from(own).toSorted()
      return { operation, count: own.length, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
    })
    .toSorted((one, other) => other.count - one.count || (one.operation < other.operation ? -1 : 1))
}

/** Nearest-rank quantile. */
function quantile(sorted: Float64Array, fraction: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? 0
}
