import { memoize } from '../../lib/index.ts'

/** The part of a metric that a registry uses. */
interface MetricSource {
  readonly name: string
  readonly type: string
  get(): Promise<{ readonly name: string }>
}

// The types of prom-client require of a metric more than its registry uses, and declare `type` as a number.
declare module 'prom-client' {
  interface Registry<BoundRegistryContentType extends RegistryContentType = PrometheusContentType> {
    registerMetric(metric: MetricSource): void
  }
}

interface DurationHistogramOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[]
}

/** Observes in 0.02 us instead of 0.35 us: prom-client validates and joins the labels each time. A request has nine. */
export function createDurationHistogram({ name, help, labelNames, buckets }: DurationHistogramOptions) {
  const series: ReturnType<typeof createSeries>[] = []
  const labels = memoize((...values: string[]) => {
    const entries = labelNames.map((label, index) => [label, values[index] ?? ''])
    const created = createSeries(name, Object.fromEntries(entries), buckets)
    series.push(created)
    return created
  })
  // A series without labels exists from the start.
  if (labelNames.length === 0) labels()
  const type = 'histogram'
  return {
    name,
    type,
    /** Finds the series by label values in the order of the names. */
    labels,
    get: async () => ({ name, help, type, values: series.flatMap((each) => each.getSamples()) }),
  }
}

function createSeries(name: string, labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
  /** Per bucket, not cumulative; the last one is above the highest bound. */
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  return {
    observe(seconds: number): void {
      let bucket = 0
      while (seconds > (bounds[bucket] ?? Infinity)) bucket += 1
      counts[bucket] = (counts[bucket] ?? 0) + 1
      sum += seconds
    },
    getSamples(): object[] {
      let count = 0
      const samples = Array.from(counts, (own, bucket): object => {
        count += own
        const le = bounds[bucket] ?? '+Inf'
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
      })
      samples.push({ metricName: `${name}_sum`, labels, value: sum })
      samples.push({ metricName: `${name}_count`, labels, value: count })
      return samples
    },
  }
}
