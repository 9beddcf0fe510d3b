import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const diskSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1]

/** promtool refuses the names of these, which prom-client adds for itself. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** Every metric of the gateway. Labels come from closed sets: never an id, never a principal. */
export interface Metrics {
  readonly registry: Registry
  readonly requests: Counter<'operation' | 'status' | 'decision'>
  readonly requestSeconds: Histogram<'operation'>
  readonly refusals: Counter<'stage' | 'reason'>
  readonly upstreamSeconds: Histogram<'upstream' | 'operation'>
  readonly auditRecords: Counter
  readonly auditFlushSeconds: Histogram
  readonly auditFailures: Counter
  readonly auditDropped: Counter
  readonly policyReloads: Counter<'result'>
  readonly policyRevision: Gauge<'revision'>
  readonly policyLoaded: Gauge
  readonly policyConditionFailures: Counter<'effect'>
  readonly policyShadowDifferences: Counter<'operation' | 'change'>
  readonly identityReloads: Counter<'source' | 'result'>
}

/** Makes the metrics of one gateway, in a registry of its own. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  const registers = [registry]
  return {
    registry,
    requests: new Counter({
      name: 'catalog_gateway_requests_total',
      help: 'Requests by operation, status of the answer and decision of the policies (allow, deny, none).',
      labelNames: ['operation', 'status', 'decision'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'catalog_gateway_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer.',
      labelNames: ['operation'],
      buckets: requestSeconds,
      registers,
    }),
    refusals: new Counter({
      name: 'catalog_gateway_refusals_total',
      help: 'Requests that the gateway refused, by the stage that refused and its reason.',
      labelNames: ['stage', 'reason'],
      registers,
    }),
    upstreamSeconds: new Histogram({
      name: 'catalog_gateway_upstream_duration_seconds',
      help: 'Time from sending a request to the upstream to the end of the answer.',
      labelNames: ['upstream', 'operation'],
      buckets: requestSeconds,
      registers,
    }),
    auditRecords: new Counter({
      name: 'catalog_gateway_audit_records_total',
      help: 'Records that are durable in the audit log.',
      registers,
    }),
    auditFlushSeconds: new Histogram({
      name: 'catalog_gateway_audit_flush_duration_seconds',
      help: 'Time to make one group of audit records durable.',
      buckets: diskSeconds,
      registers,
    }),
    auditFailures: new Counter({
      name: 'catalog_gateway_audit_failures_total',
      help: 'Groups of audit records that could not be written.',
      registers,
    }),
    auditDropped: new Counter({
      name: 'catalog_gateway_audit_dropped_total',
      help: 'Refusals and reloads that were not recorded because the audit log had no room.',
      registers,
    }),
    policyReloads: new Counter({
      name: 'catalog_gateway_policy_reloads_total',
      help: 'Reloads of the policies after a change of their files, by result (success, failure).',
      labelNames: ['result'],
      registers,
    }),
    policyRevision: new Gauge({
      name: 'catalog_gateway_policy_info',
      help: 'The revision of the policies in force.',
      labelNames: ['revision'],
      registers,
    }),
    policyLoaded: new Gauge({
      name: 'catalog_gateway_policy_loaded_timestamp_seconds',
      help: 'When the policies in force were loaded, in seconds since 1970.',
      registers,
    }),
    policyShadowDifferences: new Counter({
      name: 'catalog_gateway_policy_shadow_differences_total',
      help:
        'Decisions that shadow or candidate policies would change, by operation and change ' +
        '(allow_to_deny, deny_to_allow, undecided: it would depend on a body that was not read).',
      labelNames: ['operation', 'change'],
      registers,
    }),
    policyConditionFailures: new Counter({
      name: 'catalog_gateway_policy_condition_failures_total',
      help: 'Conditions that could not be told: an allow that did not apply, or a deny that did, by effect.',
      labelNames: ['effect'],
      registers,
    }),
    identityReloads: new Counter({
      name: 'catalog_gateway_identity_reloads_total',
      help: 'Reloads of API keys and of the key sets of issuers, by source and result (success, failure).',
      labelNames: ['source', 'result'],
      registers,
    }),
  }
}
