import type { AuditLog } from '../../audit/log.ts'
import type { Sinks } from '../../audit/sinks/open-sinks.ts'
import type { ConsoleSource } from '../../console/console.ts'
import type { ConsoleState } from '../../console/console-state.ts'
import { followNewestChanges } from '../../console/newest-changes.ts'
import { createTraffic } from '../../console/traffic.ts'
import type { PolicySource } from '../../policy/folder.ts'
import type { PolicyDocument } from '../../policy/policy-document.ts'
import { problemsOf, type ReadinessCheck } from '../../telemetry/readiness.ts'
import { version } from '../../version.ts'
import type { PoliciesFollower } from '../bootstrap/open-policies.ts'
import type { RequestReport } from './report-requests.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** What a gateway keeps for its console, from its start on. */
export interface ConsoleRecorder {
  readonly policies: PoliciesFollower
  /** The same report, and what the console shows of each request. */
  recording(report: RequestReport): RequestReport
  /** What the console reads. */
  source(parts: ConsoleParts): ConsoleSource
}

/** What the console asks when somebody looks. */
interface ConsoleParts {
  readonly checks: readonly ReadinessCheck[]
  readonly upstreams: readonly Upstream[]
  readonly policies: Pick<PolicySource, 'current'>
  readonly audit: AuditLog
  readonly auditFolder: string
  readonly sinks: Pick<Sinks, 'status'>
}

/** Begins to keep what the console shows: of a request some counts, and of a refused one a line, in bounded memory. */
export function recordForConsole(): ConsoleRecorder {
  const startedAt = Date.now()
  const traffic = createTraffic()
  const inForce = followInForce()
  return {
    policies: inForce,
    recording: (report) => ({
      begun: (trace, request) => report.begun(trace, request),
      ended(trace, response, end) {
        report.ended(trace, response, end)
        const { operation, status, decision, refusal, endedAt } = end
        traffic.ended(operation, status, decision, endedAt - trace.startedAt)
        if (refusal === undefined) return
        traffic.refused({
          time: Date.now(),
          stage: trace.stage,
          reason: refusal.reason,
          status,
          operation,
          id: trace.progress.route?.id,
          principal: trace.progress.principal?.name,
          client: trace.client,
          requestId: trace.requestId,
        })
      },
    }),
    source(parts) {
      const { audit, policies, sinks } = parts
      return {
        traffic: () => traffic.summary(),
        documents: () => inForce.documents,
        changes: followNewestChanges(parts.auditFolder, () => audit.durableEnd()),
        async state() {
          const { revision, size } = policies.current()
          const { loadedAt, failedAt } = inForce
          return {
            gateway: { version, startedAt, now: Date.now() },
            problems: await problemsOf(parts.checks),
            upstreams: parts.upstreams.map(upstreamState),
            policies: { revision, documents: size, loadedAt, failedAt },
            audit: auditState(audit, sinks),
          }
        },
      }
    },
  }
}

/** What is known of the policies in force, as they are followed. */
interface PoliciesInForce extends PoliciesFollower {
  documents: readonly PolicyDocument[]
  loadedAt: number
  failedAt: number | undefined
}

function followInForce(): PoliciesInForce {
  return {
    documents: [],
    loadedAt: Date.now(),
    failedAt: undefined,
    loaded(documents) {
      this.documents = documents
      this.loadedAt = Date.now()
      this.failedAt = undefined
    },
    failed() {
      this.failedAt ??= Date.now()
    },
  }
}

function upstreamState(upstream: Upstream): ConsoleState['upstreams'][number] {
  const { name, origin, namespaces, health, breaker, slots, client } = upstream
  return {
    name,
    origin,
    namespaces: namespaces?.map((namespace) => namespace.join('/')),
    healthy: health.healthy(),
    breaker: breaker.state,
    active: { small: slots.small.active(), bulk: slots.bulk.active() },
    pending: slots.small.pending() + slots.bulk.pending(),
    connections: client.connectionCount(),
    maxConnections: slots.small.maxActive + slots.bulk.maxActive,
  }
}

function auditState(audit: AuditLog, sinks: Pick<Sinks, 'status'>): ConsoleState['audit'] {
  const { writable, queued, dropped, unresolved, head } = audit.status()
  return {
    writable,
    queued,
    dropped,
    unresolved,
    head,
    sinks: sinks.status().map(({ sink, status: { lagRecords, lagSeconds } }) => ({
      name: sink,
      lagRecords,
      lagSeconds,
    })),
  }
}
