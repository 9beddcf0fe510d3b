import { Gauge, type Aggregator, type Registry } from 'prom-client'
import type { CircuitState } from '../upstream/circuit-breaker.ts'
import type { ConnectionSlots } from '../upstream/connection-slots.ts'
import { pools, type Upstream } from '../upstream/upstream.ts'

const states: readonly CircuitState[] = ['closed', 'open']

/** Adds gauges of how the upstreams are; they are read when they are asked for. */
export function observeUpstreams(registry: Registry, upstreams: readonly Upstream[]): void {
  const registers = [registry]
  const gauge = <Label extends string>(
    name: string,
    aggregator: Aggregator,
    help: string,
    labelNames: Label[],
    read: Reading<Label>,
  ) =>
    new Gauge({
      name: `catalog_gateway_upstream_${name}`,
      help,
      aggregator,
      labelNames,
      registers,
      collect() {
        for (const upstream of upstreams)
          for (const [labels, value] of read(upstream)) this.set(labels, value)
      },
    })
  gauge(
    'healthy',
    'min',
    'Whether the last checks of the upstream went well (1) or not (0).',
    ['upstream'],
    (upstream) => [[{ upstream: upstream.name }, upstream.health.healthy() ? 1 : 0]],
  )
  gauge(
    'breaker',
    'max',
    'The state of the circuit of the upstream: 1 for the current one.',
    ['upstream', 'state'],
    ({ name, breaker }) =>
      states.map((state) => [{ upstream: name, state }, breaker.state === state ? 1 : 0]),
  )
  const poolGauge = (
    name: string,
    aggregator: Aggregator,
    help: string,
    value: (slots: ConnectionSlots) => number,
  ) =>
    gauge(name, aggregator, help, ['upstream', 'pool'], ({ name: upstream, slots }) =>
      pools.map((pool) => [{ upstream, pool }, value(slots[pool])]),
    )
  poolGauge('active_requests', 'sum', 'Requests that hold a connection of the pool.', (slots) =>
    slots.active(),
  )
  poolGauge(
    'max_active_requests',
    'sum',
    'The most requests that may hold one.',
    ({ maxActive }) => maxActive,
  )
  poolGauge('pending_requests', 'sum', 'Requests that wait for a connection of the pool.', (slots) =>
    slots.pending(),
  )
  poolGauge(
    'max_pending_requests',
    'sum',
    'The most requests that may wait for one.',
    ({ maxPending }) => maxPending,
  )
  gauge('connections', 'sum', 'Open connections to the upstream.', ['upstream'], (upstream) => [
    [{ upstream: upstream.name }, upstream.client.connectionCount()],
  ])
}

type Reading<Label extends string> = (upstream: Upstream) => readonly [Record<Label, string>, number][]
