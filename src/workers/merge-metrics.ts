import { Registry, type Aggregator } from 'prom-client'
import type { MetricData, MetricValue } from '../observability/metrics/metric-source.ts'

export interface ProcessMetrics {
  /** Value of the label `worker` on values that are not aggregated. */
  readonly worker: string
  readonly metrics: readonly MetricData[]
}

/**
 * Aggregates the metrics of several processes by their `aggregator`: values with equal labels become their sum, minimum,
 * maximum, average or the first of them. Metrics of `omit` have no meaningful aggregate: each process keeps its values,
 * with the label `worker`. The newest exemplar is kept. prom-client's AggregatorRegistry drops exemplars and `omit`.
 */
export function mergeMetrics(processes: readonly ProcessMetrics[]): MetricData[] {
  const merged = new Map<string, { first: MetricData; values: Map<string, MetricValue[]> }>()
  for (const { worker, metrics } of processes) {
    for (const metric of metrics) {
      const entry = merged.get(metric.name) ?? { first: metric, values: new Map<string, MetricValue[]>() }
      merged.set(metric.name, entry)
      for (const each of metric.values) {
        const value = metric.aggregator === 'omit' ? { ...each, labels: { ...each.labels, worker } } : each
        const key = keyOf(value)
        const others = entry.values.get(key)
        if (others === undefined) entry.values.set(key, [value])
        else others.push(value)
      }
    }
  }
  return [...merged.values()].map(({ first, values }) => ({
    ...first,
    values: [...values.values()].map((same) => together(same, first.aggregator)),
  }))
}

/** Counts of an ended process, which must still be included, since counters never decrease. */
export function countedIn(metrics: readonly MetricData[]): MetricData[] {
  return metrics.filter(({ type, aggregator }) => type !== 'gauge' && aggregator === 'sum')
}

/** Creates a registry that returns these metrics unchanged. */
export function registryOf(metrics: readonly MetricData[]): Registry {
  const registry = new Registry()
  for (const metric of metrics) {
    registry.registerMetric({ ...metric, get: () => Promise.resolve(metric) })
  }
  return registry
}

/** Returns the current metrics of the registries. */
export async function metricsIn(registries: readonly Registry[]): Promise<MetricData[]> {
  const all = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()))
  return all.flat()
}

function keyOf({ metricName = '', labels }: MetricValue): string {
  const sorted = Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify([metricName, sorted])
}

function together(same: readonly MetricValue[], aggregator: Aggregator): MetricValue {
  const [first] = same
  if (first === undefined) throw new Error('no metrics to merge')
  if (same.length === 1) return first
  const exemplars = same.flatMap(({ exemplar }) => exemplar ?? [])
  const newest = exemplars.toSorted((a, b) => (b.timestamp ?? 0) - (a.timestamp ?? 0))[0]
  const values = same.map(({ value }) => value)
  const value = combined[aggregator === 'omit' ? 'first' : aggregator](values)
  return { ...first, value, ...(newest && { exemplar: newest }) }
}

const combined: Readonly<Record<Exclude<Aggregator, 'omit'>, (values: readonly number[]) => number>> = {
  sum: sumOf,
  average: (values) => sumOf(values) / values.length,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  first: ([first = 0]) => first,
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
