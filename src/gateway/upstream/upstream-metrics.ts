import { poolNames } from '../../limits/overload/shed-class.ts'
import type { Metrics } from '../../observability/metrics/metrics.ts'
import type { CircuitState } from './circuit-breaker.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import type { Upstream } from './upstream.ts'

const circuitStates: readonly CircuitState[] = ['closed', 'open']

/** Exports the state of the upstreams. */
export function exportUpstreams(metrics: Metrics, upstreams: readonly Upstream[]): void {
  const ofEach = (read: (upstream: Upstream) => number) => () =>
    upstreams.map((each) => [{ upstream: each.name }, read(each)] as const)
  metrics.upstream_healthy(ofEach(({ health }) => (health.isHealthy() ? 1 : 0)))
  metrics.upstream_credential_refused(ofEach(({ health }) => (health.isCredentialRefused() ? 1 : 0)))
  metrics.upstream_connections(ofEach(({ client }) => client.connectionCount()))
  metrics.upstream_circuit_breaker_state(() =>
    upstreams.flatMap(({ name: upstream, breaker }) =>
      circuitStates.map((state) => [{ upstream, state }, breaker.state === state ? 1 : 0] as const),
    ),
  )
  const ofEachPool = (read: (slots: ConnectionSlots) => number) => () =>
    upstreams.flatMap(({ name: upstream, slots }) =>
      poolNames.map((pool) => [{ upstream, pool }, read(slots[pool])] as const),
    )
  metrics.upstream_active_requests(ofEachPool((slots) => slots.active()))
  metrics.upstream_max_active_requests(ofEachPool(({ maxActive }) => maxActive))
  metrics.upstream_pending_requests(ofEachPool((slots) => slots.pending()))
  metrics.upstream_max_pending_requests(ofEachPool(({ maxPending }) => maxPending))
}
