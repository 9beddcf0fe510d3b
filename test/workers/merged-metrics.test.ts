import { Counter, Gauge, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createDurationHistogram } from '../../src/observability/metrics/duration-histogram.ts'
import type { MetricData } from '../../src/observability/metrics/metric-source.ts'
import { renderMetrics } from '../../src/observability/metrics/render-metrics.ts'
import {
  selectCounts,
  mergeMetrics,
  collectMetrics,
  createMetricsRegistry,
} from '../../src/workers/merge-metrics.ts'

/** Metrics of a process with these values of its counter, gauges and histogram. */
async function reported(count: number, gauges: number, seconds: readonly number[]): Promise<MetricData[]> {
  const registry = new Registry()
  const counter = new Counter({
    name: 'calls_total',
    help: 'Calls.',
    labelNames: ['of'],
    registers: [registry],
  })
  counter.inc({ of: 'a' }, count)
  for (const aggregator of ['sum', 'min', 'max', 'average', 'first', 'omit'] as const) {
    new Gauge({ name: `${aggregator}_gauge`, help: 'A gauge.', aggregator, registers: [registry] }).set(
      gauges,
    )
  }
  const buckets = [0.1, 1]
  const histogram = createDurationHistogram({
    name: 'duration_seconds',
    help: 'Time.',
    labelNames: ['of'],
    buckets,
    registry,
  })
  for (const each of seconds) histogram.labels('a').observe(each, `trace-${each}`)
  return collectMetrics([registry])
}

async function textOf(metrics: readonly MetricData[], accept?: string): Promise<string[]> {
  const { text } = await renderMetrics([createMetricsRegistry(metrics)], accept)
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

it('each metric is merged by its aggregator', async () => {
  const merged = mergeMetrics([
    { worker: '1', metrics: await reported(3, 2, [0.05, 0.5]) },
    { worker: '2', metrics: await reported(4, 6, [0.5, 5]) },
  ])
  expect(await textOf(merged)).toEqual([
    'calls_total{of="a"} 7',
    'sum_gauge 8',
    'min_gauge 2',
    'max_gauge 6',
    'average_gauge 4',
    'first_gauge 2',
    'omit_gauge{worker="1"} 2',
    'omit_gauge{worker="2"} 6',
    'duration_seconds_bucket{le="0.1",of="a"} 1',
    'duration_seconds_bucket{le="1",of="a"} 3',
    'duration_seconds_bucket{le="+Inf",of="a"} 4',
    'duration_seconds_sum{of="a"} 6.05',
    'duration_seconds_count{of="a"} 4',
  ])
})

it('exemplars survive, the newest of each bucket', async () => {
  const first = await reported(1, 1, [0.5])
  const second = await reported(1, 1, [0.6])
  const merged = mergeMetrics([
    { worker: '1', metrics: second },
    { worker: '2', metrics: first },
  ])
  const open = await textOf(merged, 'application/openmetrics-text; version=1.0.0')
  expect(open.find((line) => line.includes('le="1"'))).toMatch(/ 2 # \{trace_id="trace-0\.6"\} 0\.6 /)
})

it('counters of an ended process are retained, gauges are not', async () => {
  const ended = mergeMetrics([
    { worker: '1', metrics: selectCounts(await reported(3, 2, [0.5])) },
    { worker: '1', metrics: await reported(4, 6, [0.5]) },
  ])
  const lines = await textOf(ended)
  expect(lines).toContain('calls_total{of="a"} 7')
  expect(lines).toContain('sum_gauge 6')
  expect(lines).toContain('duration_seconds_count{of="a"} 2')
})
