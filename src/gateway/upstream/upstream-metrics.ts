import { Gauge, type Registry } from 'prom-client'
import type { CircuitState } from './circuit-breaker.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import { type Upstream } from './upstream.ts'
import { poolNames } from '../../limits/overload/pool-name.ts'

const circuitStates: readonly CircuitState[] = ['closed', 'open']

/** Registers gauges of the upstreams, which are evaluated when they are collected. */
export function registerUpstreamMetrics(registry: Registry, upstreams: readonly Upstream[]): void {
  const registers = [registry]
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    read: ReadSamples<Label>,
  ) =>
    new Gauge({
      name: `catalog_gateway_upstream_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        for (const upstream of upstreams)
          for (const [labels, value] of read(upstream)) this.set(labels, value)
      },
    })
  gauge(
    'healthy',
    'Whether the health checks of the upstream pass (1) or fail (0).',
    ['upstream'],
    (upstream) => [[{ upstream: upstream.name }, upstream.health.isHealthy() ? 1 : 0]],
  )
  gauge(
    'credential_refused',
    'Whether the upstream refused the credential of the gateway in the latest health check (1).',
    ['upstream'],
    (upstream) => [[{ upstream: upstream.name }, upstream.health.isCredentialRefused() ? 1 : 0]],
  )
  gauge(
    'circuit_breaker_state',
    'State of the circuit breaker of the upstream: 1 for the current state.',
    ['upstream', 'state'],
    ({ name, breaker }) =>
      circuitStates.map((state) => [{ upstream: name, state }, breaker.state === state ? 1 : 0]),
  )
  const poolGauge = (name: string, help: string, value: (slots: ConnectionSlots) => number) =>
    gauge(name, help, ['upstream', 'pool'], ({ name: upstream, slots }) =>
      poolNames.map((pool) => [{ upstream, pool }, value(slots[pool])]),
    )
  poolGauge('active_requests', 'Requests that hold a connection slot of the pool.', (slots) => slots.active())
  poolGauge('max_active_requests', 'Connection slots of the pool.', ({ maxActive }) => maxActive)
  poolGauge('pending_requests', 'Requests pending for a connection slot of the pool.', (slots) =>
    slots.pending(),
  )
  poolGauge('max_pending_requests', 'Limit of pending requests of the pool.', ({ maxPending }) => maxPending)
  gauge('connections', 'Open connections to the upstream.', ['upstream'], (upstream) => [
    [{ upstream: upstream.name }, upstream.client.connectionCount()],
  ])
}

type ReadSamples<Label extends string> = (upstream: Upstream) => readonly [Record<Label, string>, number][]
