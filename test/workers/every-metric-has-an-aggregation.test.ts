import type { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'

/** Gauges by aggregation; counters and histograms are summed. */
const gauges: Readonly<Record<string, readonly string[]>> = {
  average: ['load_shed_ratio'],
  max: [
    'api_keys',
    'api_keys_outdated',
    'audit_sink_lag_seconds',
    'audit_sink_last_success_timestamp_seconds',
    'build_info',
    'files_outdated',
    'jwks_consecutive_fetch_failures',
    'jwks_keys',
    'policy_info',
    'policy_last_good',
    'upstream_circuit_breaker_state',
    'upstream_comparison_incomplete',
    'upstream_credential_refused',
    'upstream_unmanaged_versions',
  ],
  min: [
    'api_keys_next_expiry_timestamp_seconds',
    'audit_volume_available_bytes',
    'audit_volume_size_bytes',
    'audit_writable',
    'certificate_expiry_timestamp_seconds',
    'jwks_last_fetch_timestamp_seconds',
    'jwks_usable',
    'policy_last_reload_success_timestamp_seconds',
    'policy_last_reload_successful',
    'ready',
    'shared_limits_connected',
    'upstream_healthy',
  ],
  omit: ['audit_head_hash', 'audit_head_sequence'],
  sum: [
    'active_requests',
    'audit_in_doubt_changes',
    'audit_pending_intents',
    'audit_queued_records',
    'audit_sink_lag_records',
    'json_memory_bytes',
    'max_json_memory_bytes',
    'token_cache_entries',
    'upstream_active_requests',
    'upstream_compared_tables',
    'upstream_connections',
    'upstream_max_active_requests',
    'upstream_max_pending_requests',
    'upstream_pending_requests',
  ],
}

it('every metric has a defined aggregation', async () => {
  let reported: readonly Registry[] = []
  await startGatewayAndUpstream({
    worker: {
      adminUrl: 'http://127.0.0.1:0',
      charge: (charges) => Promise.resolve(charges.map(() => 0)),
      setAdminSources: (registries) => (reported = registries()),
    },
  })
  const metrics = (await Promise.all(reported.map((registry) => registry.getMetricsAsJSON()))).flat()
  const found: Record<string, string[]> = {}
  const [prefix, counted] = ['catalog_gateway_', [] as string[]]
  for (const { name, type, aggregator } of metrics) {
    if (type !== 'gauge') counted.push(aggregator)
    else if (name.startsWith(prefix)) (found[aggregator] ??= []).push(name.slice(prefix.length))
  }
  for (const names of Object.values(found)) names.sort()
  expect(found).toEqual(gauges)
  // Only the event loop utilization: a sum would hide one saturated process.
  expect(counted.filter((aggregator) => aggregator !== 'sum')).toEqual(['omit'])
})
