import { Counter, Gauge, Registry } from 'prom-client'
import { memoize } from '../../lib/index.ts'
import { createDurationHistogram } from './duration-histogram.ts'

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const diskBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1]
const syncBuckets = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1]

/** Most stages take microseconds; some wait for a client, an issuer or a disk. */
const stageBuckets = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 2.5, 10, 30,
]

/** Kubernetes scraping sets `namespace` to that of the pod. */
const kubernetesNamespace = 'kubernetes_namespace'

export type Metrics = ReturnType<typeof createMetrics>

/**
 * Creates the metrics of a gateway: each is a member by its name, after `catalog_gateway_`. Labels come from closed sets or
 * from the settings: never an id, never a principal. Members of `values` and `samples` are functions that
 * take a callback, which is called whenever metrics are rendered.
 */
export function createMetrics(version: string) {
  const registry = new Registry()
  const { durations, counters, gauges, values, samples } = createFactories(registry)
  const metrics = {
    registry,
    ...counters(['operation', 'status', 'decision'], {
      requests_total: 'Requests by operation, response status and policy decision (allow, deny, none).',
    }),
    ...counters(['stage', 'reason'], {
      refusals_total: 'Requests refused by the gateway, by stage and reason.',
    }),
    ...counters(['operation', 'result'], {
      restricted_reads_total:
        'Reads of callers that policies leave a part of the table, by operation and result (restricted, or the reason of the refusal).',
    }),
    ...durations(['operation'], requestBuckets, {
      request_duration_seconds: 'Time from the head of a request to the end of its response.',
    }),
    ...durations(['stage'], stageBuckets, {
      stage_duration_seconds:
        'Time that a request spent in a stage; read_body includes waiting for the body, send waiting for the upstream, respond waiting for the client.',
    }),
    ...durations(['upstream', 'operation'], requestBuckets, {
      upstream_request_duration_seconds:
        'Time from sending a request to the upstream to the end of its response.',
    }),
    ...durations([], diskBuckets, {
      audit_flush_duration_seconds: 'Time to make one batch of audit records durable.',
    }),
    ...durations([], syncBuckets, {
      shared_limits_sync_duration_seconds:
        'Time of one synchronization of shared limits; requests do not wait for it.',
    }),
    ...counters(['upstream'], {
      incomplete_listings_total: 'Listings of all tables that lack those of the upstream, because it failed.',
      listed_names_left_out_total:
        'Names in listings of the upstream that are not valid in ids and were left out, each time they were listed.',
    }),
    ...counters(['operation', 'effect', 'result'], {
      changes_total:
        'Recorded changes by operation, effect (change, commit) and result (committed, rejected, failed, unknown).',
    }),
    ...counters([], {
      audit_records_total: 'Durable audit records.',
      audit_write_failures_total: 'Batches of audit records that could not be written.',
      audit_records_dropped_total:
        'Denials and reloads that were not recorded because the queue of the audit log was full.',
      audit_tampered_total:
        'Changes of audit log files by another writer, found while writing or at the start.',
      shared_limits_sync_failures_total:
        'Failed synchronizations of shared limits, failed connections included.',
      log_lines_dropped_total: 'Log lines dropped because standard error failed or was blocked for too long.',
    }),
    ...counters(['result'], {
      audit_resolutions_total:
        'Resolved in-doubt changes by result (committed, not_committed, taken, undecided).',
      policy_reloads_total: 'Reloads of the policies by result (success, failure).',
    }),
    ...counters(['sink'], {
      audit_sink_records_delivered_total: 'Audit records delivered to the sink.',
      audit_sink_delivery_failures_total: 'Failed deliveries of a batch to the sink; they are retried.',
      audit_sink_records_rejected_total:
        'Audit records that the sink rejected permanently; a report of each is delivered if it is identified.',
    }),
    ...counters(['operation', 'change'], {
      policy_shadow_differences_total:
        'Decisions that shadow policies would change, by operation and change (allow_to_deny, deny_to_allow, undecided: it depends on a body that was not read).',
    }),
    ...counters(['operation', 'result'], {
      policy_shadow_restrictions_total:
        'Reads that shadow policies would restrict otherwise, by operation and result (restricted, or the reason of the refusal).',
    }),
    ...counters(['effect'], {
      policy_condition_failures_total:
        'Conditions that failed to evaluate, by the effect of their rule: an allow then does not apply, a deny does.',
    }),
    ...counters(['source', 'result'], {
      identity_reloads_total: 'Reloads of API keys and JWKS by source and result (success, failure).',
    }),
    ...counters(['issuer'], {
      tokens_without_groups_total:
        'Verified tokens that do not have the groups claim of their issuer; cached tokens are not counted again.',
    }),
    ...counters(['setting', 'result'], {
      file_reloads_total: 'Reloads of changed files by setting and result (success, failure).',
    }),
    ...counters(['reason'], {
      trace_spans_dropped_total: 'Spans that were not exported, by reason (queue_full, export_failed).',
    }),
    ...gauges(['version'], {
      build_info: 'Version of the gateway.',
    }),
    ...gauges(['revision'], {
      policy_info: 'Revision of the policies in force.',
    }),
    ...gauges([], {
      policy_last_reload_success_timestamp_seconds: 'Unix time of the last successful load of the policies.',
      policy_last_reload_successful:
        'Whether the last changes of all policy folders, and of the resources, are in force (1) or one failed (0).',
    }),
    ...gauges(['state'], {
      policy_resources: 'AccessPolicy resources by state (accepted, refused).',
    }),
    ...gauges([kubernetesNamespace], {
      policy_watch_connected:
        'Whether changes of the AccessPolicy resources in a Kubernetes namespace arrive (1) or not (0).',
      policy_watch_last_connected_timestamp_seconds:
        'Unix time at which the AccessPolicy resources in a Kubernetes namespace were last known to be complete.',
    }),
    ...gauges(['side', 'upstream'], {
      certificate_expiry_timestamp_seconds:
        'Unix time at which a certificate of the gateway expires, by side (downstream, upstream).',
    }),
    ...values({
      active_requests: 'Requests whose response is not complete.',
      audit_writable: 'Whether changes can be recorded (1); if not (0), changes are refused.',
      audit_queued_records: 'Audit records queued for writing.',
      audit_pending_intents: 'Changes with an intent and no outcome yet.',
      audit_in_doubt_changes: 'In-doubt changes: the outcome is unknown and not resolved yet.',
      audit_head_sequence: 'Sequence number of the last durable audit record of the current chain.',
      audit_head_hash:
        'First 12 hex digits of the hash of that record, as a number; in hex, the beginning of its hash.',
      audit_volume_available_bytes: 'Free space on the volume of the audit log; NaN if it cannot be read.',
      audit_volume_size_bytes: 'Size of the volume of the audit log; NaN if it cannot be read.',
      token_cache_entries: 'Verified bearer tokens in the cache.',
      api_keys: 'API keys in the store, including revoked and expired ones.',
      api_keys_outdated:
        'Whether the API key store has errors (1); the last valid keys, or only the valid entries after a start, are in use.',
      api_keys_next_expiry_timestamp_seconds:
        'Unix time at which the next principal loses its last API key; absent if there is none.',
      shared_limits_connected:
        'Whether limits are shared with other gateways (1) or the connection is lost (0); absent if limits are not shared.',
      json_memory_bytes: 'Memory reserved for JSON of requests and responses.',
      max_json_memory_bytes: 'Limit of the memory for JSON of requests and responses.',
      files_outdated:
        'Settings whose files could not be read at their last change; the last good value stays in use.',
    }),
    ...samples(['upstream'], {
      upstream_healthy: 'Whether the health checks of the upstream pass (1) or fail (0).',
      upstream_credential_refused:
        'Whether the upstream refused the credential of the gateway in the latest health check (1).',
      upstream_connections: 'Open connections to the upstream.',
    }),
    ...samples(['upstream', 'state'], {
      upstream_circuit_breaker_state:
        'State of the circuit breaker of the upstream: 1 for the current state.',
    }),
    ...samples(['upstream', 'pool'], {
      upstream_active_requests: 'Requests that hold a connection slot of the pool.',
      upstream_max_active_requests: 'Connection slots of the pool.',
      upstream_pending_requests: 'Requests pending for a connection slot of the pool.',
      upstream_max_pending_requests: 'Limit of pending requests of the pool.',
    }),
    ...samples(['sink'], {
      audit_sink_lag_records: 'Durable audit records not yet delivered to the sink.',
      audit_sink_lag_seconds: 'Age of the oldest record not yet delivered; 0 if there is none.',
      audit_sink_last_success_timestamp_seconds: 'Unix time of the last successful delivery to the sink.',
    }),
    ...samples(['issuer'], {
      jwks_keys: 'Keys in the JWKS of the issuer that can verify signatures.',
      jwks_usable: 'Whether tokens of the issuer can be verified (1) or not (0).',
      jwks_last_fetch_timestamp_seconds: 'Unix time of the last successful fetch of the JWKS of the issuer.',
      jwks_consecutive_fetch_failures: 'Consecutive failed fetches of the JWKS of the issuer.',
    }),
    ...samples(['upstream', 'class'], {
      load_shed_ratio:
        'Ratio of the requests of a class that load shedding refuses (0 to 1), by upstream and class.',
    }),
    ...samples(['check'], {
      ready: 'Whether a check of /readyz passes (1) or fails (0).',
    }),
  }
  metrics.build_info.set({ version }, 1)
  // Rare events start at 0: Prometheus sees no increase in a series that begins with 1.
  for (const result of ['success', 'failure']) metrics.policy_reloads_total.inc({ result }, 0)
  for (const effect of ['allow', 'deny']) metrics.policy_condition_failures_total.inc({ effect }, 0)
  return metrics
}

/** Undefined: the metric has no such sample. */
type Value = number | undefined
type Samples<Label extends string> = Iterable<readonly [labels: Record<Label, string>, value: Value]>

/** Help texts by the names of metrics. */
type HelpTexts<Name extends string> = Readonly<Record<Name, string>>

function createFactories(registry: Registry) {
  const registers = [registry]

  function createSamples<Label extends string>(
    base: { name: string; help: string },
    labelNames: readonly Label[],
  ) {
    let read: (() => Samples<Label> | Promise<Samples<Label>>) | undefined
    const gauge = new Gauge<Label>({
      ...base,
      labelNames,
      registers: [],
      async collect() {
        // The default of a gauge, 0, would be a value.
        if (labelNames.length === 0) this.remove()
        for (const [labels, value] of (await read?.()) ?? []) if (value !== undefined) this.set(labels, value)
      },
    })
    registry.registerMetric(gauge)
    return (all: NonNullable<typeof read>): void => {
      read = all
    }
  }

  return {
    samples: <Name extends string, Label extends string>(labels: readonly Label[], texts: HelpTexts<Name>) =>
      createEach(texts, (base) => createSamples(base, labels)),
    values: <Name extends string>(texts: HelpTexts<Name>) =>
      createEach(texts, (base) => {
        const readAll = createSamples<never>(base, [])
        return (read: () => Value | Promise<Value>): void => readAll(async () => [[{}, await read()]])
      }),
    counters: <Name extends string, Label extends string>(
      labelNames: readonly Label[],
      texts: HelpTexts<Name>,
    ) =>
      createEach(texts, (base) => {
        const counter = new Counter<Label>({ ...base, labelNames, registers })
        // Looking a series up costs more than counting in it.
        const find: (...values: string[]) => Counter.Internal = counter.labels.bind(counter)
        return Object.assign(counter, { labels: memoize(find) })
      }),
    gauges: <Name extends string, Label extends string>(
      labelNames: readonly Label[],
      texts: HelpTexts<Name>,
    ) => createEach(texts, (base) => new Gauge<Label>({ ...base, labelNames, registers })),
    durations: <Name extends string>(
      labelNames: readonly string[],
      buckets: readonly number[],
      texts: HelpTexts<Name>,
    ) =>
      createEach(texts, (base) => {
        const histogram = createDurationHistogram({ ...base, labelNames, buckets })
        registry.registerMetric(histogram)
        return histogram
      }),
  }
}

function createEach<Name extends string, Metric>(
  texts: HelpTexts<Name>,
  create: (base: { name: string; help: string }) => Metric,
): Record<Name, Metric> {
  const entries = Object.entries<string>(texts).map(([name, help]) => [
    name,
    create({ name: `catalog_gateway_${name}`, help }),
  ])
  return Object.fromEntries(entries)
}
