import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { MetricsSettings } from '../../config/metrics-settings.ts'
import { createRequestCounter, type RequestCounter } from './request-counter.ts'
import { createDurationHistogram, type DurationHistogram } from './duration-histogram.ts'

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const diskSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1]

/** Most stages take microseconds; some wait for a client, an issuer or a disk. */
const stageSeconds = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 2.5, 10, 30,
]

/** Kubernetes scraping sets `namespace` to that of the pod. */
const namespaceLabel = 'catalog_namespace'

/** Metrics of requests and reloads. Labels come from closed sets: never an id, never a principal. */
export interface Metrics {
  readonly registry: Registry
  readonly requests: RequestCounter
  readonly requestSeconds: DurationHistogram
  readonly stageSeconds: DurationHistogram
  readonly refusals: RequestCounter
  readonly restrictedReads: RequestCounter
  readonly upstreamSeconds: DurationHistogram
  readonly auditRecords: Counter
  readonly auditFlushSeconds: Histogram
  readonly auditFailures: Counter
  readonly auditDropped: Counter
  readonly policyReloads: Counter<'result'>
  readonly policyRevision: Gauge<'revision'>
  readonly policyLoaded: Gauge
  readonly policyReloadSuccessful: Gauge
  readonly policyConditionFailures: Counter<'effect'>
  readonly policyShadowDifferences: Counter<'operation' | 'change'>
  readonly policyShadowRestrictions: Counter<'operation' | 'result'>
  readonly identityReloads: Counter<'source' | 'result'>
  readonly tokensWithoutGroups: Counter<'issuer'>
}

export function createMetrics(version: string, { namespaces }: MetricsSettings = {}): Metrics {
  const namespaceLabels = namespaces ? ([namespaceLabel] as const) : []
  const registry = new Registry()
  const registers = [registry]
  new Gauge({
    name: 'catalog_gateway_build_info',
    help: 'Version of the gateway.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1)
  const metrics: Metrics = {
    registry,
    requests: createRequestCounter({
      name: 'catalog_gateway_requests_total',
      help: 'Requests by operation, response status and policy decision (allow, deny, none).',
      labelNames: ['operation', 'status', 'decision', ...namespaceLabels],
      registers,
    }),
    requestSeconds: createDurationHistogram({
      name: 'catalog_gateway_request_duration_seconds',
      help: 'Time from the head of a request to the end of its response.',
      labelNames: ['operation'],
      buckets: requestSeconds,
      registry,
    }),
    stageSeconds: createDurationHistogram({
      name: 'catalog_gateway_stage_duration_seconds',
      help: 'Time that a request spent in a stage; read_body includes waiting for the body, send waiting for the upstream, respond waiting for the client.',
      labelNames: ['stage'],
      buckets: stageSeconds,
      registry,
    }),
    refusals: createRequestCounter({
      name: 'catalog_gateway_refusals_total',
      help: 'Requests refused by the gateway, by stage and reason.',
      labelNames: ['stage', 'reason'],
      registers,
    }),
    restrictedReads: createRequestCounter({
      name: 'catalog_gateway_restricted_reads_total',
      help: 'Reads of callers that policies leave a part of the table, by operation and result (restricted, or the reason of the refusal).',
      labelNames: ['operation', 'result', ...namespaceLabels],
      registers,
    }),
    upstreamSeconds: createDurationHistogram({
      name: 'catalog_gateway_upstream_request_duration_seconds',
      help: 'Time from sending a request to the upstream to the end of its response.',
      labelNames: ['upstream', 'operation'],
      buckets: requestSeconds,
      registry,
    }),
    auditRecords: new Counter({
      name: 'catalog_gateway_audit_records_total',
      help: 'Durable audit records.',
      registers,
    }),
    auditFlushSeconds: new Histogram({
      name: 'catalog_gateway_audit_flush_duration_seconds',
      help: 'Time to make one batch of audit records durable.',
      buckets: diskSeconds,
      registers,
    }),
    auditFailures: new Counter({
      name: 'catalog_gateway_audit_write_failures_total',
      help: 'Batches of audit records that could not be written.',
      registers,
    }),
    auditDropped: new Counter({
      name: 'catalog_gateway_audit_records_dropped_total',
      help: 'Denials and reloads that were not recorded because the queue of the audit log was full.',
      registers,
    }),
    policyReloads: new Counter({
      name: 'catalog_gateway_policy_reloads_total',
      help: 'Reloads of the policies by result (success, failure).',
      labelNames: ['result'],
      registers,
    }),
    policyRevision: new Gauge({
      name: 'catalog_gateway_policy_info',
      help: 'Revision of the policies in force.',
      labelNames: ['revision'],
      registers,
    }),
    policyLoaded: new Gauge({
      name: 'catalog_gateway_policy_last_reload_success_timestamp_seconds',
      help: 'Unix time of the last successful load of the policies.',
      registers,
    }),
    policyReloadSuccessful: new Gauge({
      name: 'catalog_gateway_policy_last_reload_successful',
      help: 'Whether the last changes of all policy folders, and of the resources, are in force (1) or one failed (0).',
      registers,
    }),
    policyShadowDifferences: new Counter({
      name: 'catalog_gateway_policy_shadow_differences_total',
      help: 'Decisions that shadow policies would change, by operation and change (allow_to_deny, deny_to_allow, undecided: it depends on a body that was not read).',
      labelNames: ['operation', 'change'],
      registers,
    }),
    policyShadowRestrictions: new Counter({
      name: 'catalog_gateway_policy_shadow_restrictions_total',
      help: 'Reads that shadow policies would restrict otherwise, by operation and result (restricted, undecided, or the reason of the refusal).',
      labelNames: ['operation', 'result'],
      registers,
    }),
    policyConditionFailures: new Counter({
      name: 'catalog_gateway_policy_condition_failures_total',
      help: 'Conditions that failed to evaluate, by the effect of their rule: an allow then does not apply, a deny does.',
      labelNames: ['effect'],
      registers,
    }),
    identityReloads: new Counter({
      name: 'catalog_gateway_identity_reloads_total',
      help: 'Reloads of API keys and JWKS by source and result (success, failure).',
      labelNames: ['source', 'result'],
      registers,
    }),
    tokensWithoutGroups: new Counter({
      name: 'catalog_gateway_tokens_without_groups_total',
      help: 'Verified tokens that do not have the groups claim of their issuer; cached tokens are not counted again.',
      labelNames: ['issuer'],
      registers,
    }),
  }
  // Rare events start at 0: Prometheus sees no increase in a series that begins with 1.
  for (const result of ['success', 'failure']) metrics.policyReloads.inc({ result }, 0)
  for (const effect of ['allow', 'deny']) metrics.policyConditionFailures.inc({ effect }, 0)
  return metrics
}
