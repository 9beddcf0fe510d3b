import { Gauge, type Aggregator, type Registry } from 'prom-client'
import type { BreakerState } from '../upstream/breaker.ts'
import type { Upstream } from '../upstream/upstream.ts'

const states: readonly BreakerState[] = ['closed', 'open', 'half-open']

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
    'The state of the breaker of the upstream: 1 for the one that it is in.',
    ['upstream', 'state'],
    ({ name, breaker }) =>
      states.map((state) => [{ upstream: name, state }, breaker.state() === state ? 1 : 0]),
  )
  gauge('exchanges', 'sum', 'Exchanges with the upstream that are under way.', ['upstream'], (upstream) => [
    [{ upstream: upstream.name }, upstream.places.taken()],
  ])
  gauge(
    'waiting',
    'sum',
    'Requests that wait for a connection to the upstream.',
    ['upstream'],
    (upstream) => [[{ upstream: upstream.name }, upstream.places.waiting()]],
  )
  gauge('connections', 'sum', 'Open connections to the upstream.', ['upstream'], (upstream) => [
    [{ upstream: upstream.name }, upstream.client.connections()],
  ])
}

type Reading<Label extends string> = (upstream: Upstream) => readonly [Record<Label, string>, number][]
