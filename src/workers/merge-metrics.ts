import { Registry, type Aggregator } from 'prom-client'
import type { MetricData, MetricValue } from '../observability/metrics/metric-source.ts'

export interface ProcessMetrics {
  /** Value of the label `worker` on values that are not aggregated. */
  readonly worker: string
  readonly metrics: readonly MetricData[]
}

/**
 * Merges values with equal labels by their `aggregator`. Values of `omit` are kept, with the label `worker`. The newest
 * exemplar is kept. prom-client's AggregatorRegistry drops exemplars and `omit`.
 */
export function mergeMetrics(processes: readonly ProcessMetrics[]): MetricData[] {
  const merged = new Map<string, { first: MetricData; values: Map<string, MetricValue[]> }>()
  for (const { worker, metrics } of processes) {
    for (const metric of metrics) {
      const entry = merged.get(metric.name) ?? { first: metric, values: new Map<string, MetricValue[]>() }
      merged.set(metric.name, entry)
      for (const each of metric.values) {
        const value = metric.aggregator === 'omit' ? { ...each, labels: { ...each.labels, worker } } : each
        const key = formatValueKey(value)
        const others = entry.values.get(key)
        if (others === undefined) entry.values.set(key, [value])
        else others.push(value)
      }
    }
  }
  return [...merged.values()].map(({ first, values }) => ({
    ...first,
    values: [...values.values()].map((series) => mergeValues(series, first.aggregator)),
  }))
}

/** Counts of an ended process remain included, since counters never decrease. */
export function selectCounts(metrics: readonly MetricData[]): MetricData[] {
  return metrics.filter(({ type, aggregator }) => type !== 'gauge' && aggregator === 'sum')
}

export function createMetricsRegistry(metrics: readonly MetricData[]): Registry {
  const registry = new Registry()
  for (const metric of metrics) {
    registry.registerMetric({ ...metric, get: () => Promise.resolve(metric) })
  }
  return registry
}

export async function collectMetrics(registries: readonly Registry[]): Promise<MetricData[]> {
  const all = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()))
  return all.flat()
}

function formatValueKey({ metricName = '', labels }: MetricValue): string {
  const sorted = Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify([metricName, sorted])
}

function mergeValues(series: readonly MetricValue[], aggregator: Aggregator): MetricValue {
  const [first] = series
  if (first === undefined) throw new Error('no metrics to merge')
  if (series.length === 1) return first
  const exemplars = series.flatMap(({ exemplar }) => exemplar ?? [])
  const newest = exemplars.toSorted((a, b) => (b.timestamp ?? 0) - (a.timestamp ?? 0))[0]
  const values = series.map(({ value }) => value)
  const value = aggregations[aggregator === 'omit' ? 'first' : aggregator](values)
  return { ...first, value, ...(newest && { exemplar: newest }) }
}

const aggregations: Readonly<Record<Exclude<Aggregator, 'omit'>, (values: readonly number[]) => number>> = {
  sum,
  average: (values) => sum(values) / values.length,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  first: ([first = 0]) => first,
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
