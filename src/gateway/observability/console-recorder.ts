import type { CatalogError } from '../../catalog-api/catalog-error.ts'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import type { Principal } from '../../identity/index.ts'
import { factsAvailableFor } from '../../policy/conditions/permission-facts.ts'
import { describeRestriction } from '../../policy/restrictions/restriction.ts'
import { DeniedError } from '../authorization/denied-error.ts'
import type { AuditLog, Sinks } from '../../audit/index.ts'
import type { ConsoleSource } from '../../console/console.ts'
import type { ConsoleState, RefusedRequest } from '../../console/console-state.ts'
import { createNewestChangesReader } from '../../console/newest-changes.ts'
import type { PolicySource } from '../../policy/source/policy-source.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import { readReadiness, type ReadinessCheck } from '../../observability/health/readiness.ts'
import { version } from '../../version.ts'
import type { RequestSink } from './request-sinks.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** Receives the policies in force. */
export interface PoliciesFollower {
  loaded(documents: readonly PolicyDocument[]): void
  /** A change could not be loaded. */
  failed(): void
}

/** Records what the console shows, from the start of the gateway on. */
export interface ConsoleRecorder {
  readonly policyFollower: PoliciesFollower
  readonly recordEnd: RequestSink
  createSource(parts: ConsoleSourceOptions): ConsoleSource
}

interface ConsoleSourceOptions extends Pick<ConsoleSource, 'listCatalog' | 'playground'> {
  readonly checks: readonly ReadinessCheck[]
  readonly url: () => string | undefined
  readonly upstreams: readonly Upstream[]
  readonly policies: Pick<PolicySource, 'current'>
  readonly audit: AuditLog
  readonly sinks: Pick<Sinks, 'status'>
}

const maxRefusals = 50

/** Creates a recorder of the newest refused requests. */
export function createConsoleRecorder(): ConsoleRecorder {
  const startedAt = Date.now()
  const refusals: RefusedRequest[] = []
  const inForce = createPoliciesInForce()
  return {
    policyFollower: inForce,
    recordEnd(trace, _response, { operation, status, refusal }) {
      if (refusal === undefined) return
      const { route, principal, headPermit } = trace.progress
      refusals.unshift({
        time: Date.now(),
        stage: trace.stage,
        reason: refusal.reason,
        status,
        operation,
        id: route && formatIdentifierText(route.id),
        principal: principal?.name,
        client: trace.client,
        requestId: trace.requestId,
        denial: describeDenial(refusal, principal, trace.client),
        restrictedBy: headPermit?.restriction?.parts.map(describeRestriction),
      })
      if (refusals.length > maxRefusals) refusals.pop()
    },
    createSource(parts) {
      const { audit, policies, sinks } = parts
      return {
        listCatalog: parts.listCatalog,
        playground: parts.playground,
        refusals: () => refusals,
        policies: () => policies.current(),
        changes: createNewestChangesReader(parts.playground.auditFolder, () => audit.durableEnd()),
        async state() {
          const { revision, size } = policies.current()
          const { loadedAt, failedAt } = inForce
          const readiness = await readReadiness(parts.checks)
          return {
            gateway: { version, url: parts.url(), startedAt, now: Date.now() },
            readiness,
            upstreams: parts.upstreams.map(getUpstreamState),
            policies: { revision, documents: size, loadedAt, failedAt },
            audit: getAuditState(audit, sinks),
          }
        },
      }
    },
  }
}

/** Undefined if the policies did not refuse the request. Facts that can hold secrets are left out. */
function describeDenial(
  refusal: CatalogError,
  principal: Principal | undefined,
  address: string,
): RefusedRequest['denial'] {
  if (!(refusal instanceof DeniedError) || principal === undefined) return undefined
  const { permission, id, facts } = refusal.requiredPermission
  const available = factsAvailableFor(permission)
  const shown = (['mode', 'behavior', 'branch', 'tag'] as const).flatMap((name) => {
    const value = available.has(name) ? facts[name] : ''
    return typeof value === 'string' && value !== '' ? [`${name}=${value}`] : []
  })
  return {
    permission,
    id: formatIdentifierText(id),
    rule: refusal.decision.rule,
    caller: {
      isAnonymous: principal.method === 'anonymous',
      groups: [...principal.groups],
      issuer: principal.issuer,
      key: principal.method === 'api-key' ? principal.credentialId : undefined,
    },
    facts: [`address=${address}`, ...shown],
  }
}

interface PoliciesInForce extends PoliciesFollower {
  documents: readonly PolicyDocument[]
  loadedAt: number
  failedAt: number | undefined
}

function createPoliciesInForce(): PoliciesInForce {
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

function getUpstreamState(upstream: Upstream): ConsoleState['upstreams'][number] {
  const { name, origin, namespaces, health, breaker, slots, client } = upstream
  return {
    name,
    origin,
    namespaces: namespaces?.map(formatIdentifierText),
    healthy: health.isHealthy(),
    breaker: breaker.state,
    active: { small: slots.small.active() + slots.listing.active(), bulk: slots.bulk.active() },
    pending: slots.small.pending() + slots.listing.pending() + slots.bulk.pending(),
    connections: client.connectionCount(),
    maxConnections: slots.small.maxActive + slots.listing.maxActive + slots.bulk.maxActive,
  }
}

function getAuditState(audit: AuditLog, sinks: Pick<Sinks, 'status'>): ConsoleState['audit'] {
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
