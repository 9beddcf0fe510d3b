import type { Registry } from 'prom-client'

/** The part of a metric that a registry uses. */
export interface MetricSource {
  readonly name: string
  readonly type: string
  get(): Promise<{ readonly name: string }>
}

// The types of prom-client require of a metric more than its registry uses, and declare `type` as a number.
declare module 'prom-client' {
  interface Registry<BoundRegistryContentType extends RegistryContentType = PrometheusContentType> {
    registerMetric(metric: MetricSource): void
    getMetricsAsArray(): MetricSource[]
  }
}

interface DurationHistogramOptions<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[]
  readonly registry: Registry
}

/** Look it up once and reuse it. */
interface DurationSeries {
  /** The trace id becomes the exemplar of its bucket. */
  observe(seconds: number, traceId?: string): void
}

export interface DurationHistogram {
  /** Label values in the order of the names. */
  labels(...values: string[]): DurationSeries
}

interface Sample {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly exemplar?: Exemplar | undefined
}

interface Exemplar {
  readonly labelSet: { readonly trace_id: string }
  readonly value: number
  /** In seconds since 1970. */
  readonly timestamp: number
}

/** Observes in 0.02 us instead of 0.35 us: prom-client validates and joins the labels each time. A request has nine. */
export function createDurationHistogram<Label extends string>(
  options: DurationHistogramOptions<Label>,
): DurationHistogram {
  const { name, help, labelNames, buckets, registry } = options
  const series = new Map<string, Series>()
  const metadata = { name, help, type: 'histogram' } as const
  const metric = {
    ...metadata,
    get: () =>
      Promise.resolve({
        ...metadata,
        values: [...series.values()].flatMap((each) => each.getSamples(name)),
      }),
    reset: () => series.clear(),
  }
  registry.registerMetric(metric)
  return {
    labels(...values) {
      const key = JSON.stringify(values)
      let found = series.get(key)
      if (found === undefined) {
        const labels = Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? '']))
        series.set(key, (found = new Series(labels, buckets)))
      }
      return found
    },
  }
}

class Series implements DurationSeries {
  readonly #labels: Readonly<Record<string, string>>
  readonly #bounds: readonly number[]
  /** Per bucket, not cumulative; the last one is above the highest bound. */
  readonly #counts: Float64Array
  readonly #exemplars: (Exemplar | undefined)[] = []
  #sum = 0

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.#labels = labels
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(seconds: number, traceId?: string): void {
    let bucket = 0
    while (seconds > (this.#bounds[bucket] ?? Infinity)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += seconds
    if (traceId !== undefined) {
      const timestamp = Date.now() / 1000
      this.#exemplars[bucket] = { labelSet: { trace_id: traceId }, value: seconds, timestamp }
    }
  }

  getSamples(name: string): Sample[] {
    const labels = this.#labels
    let count = 0
    const samples = Array.from(this.#counts, (own, bucket): Sample => {
      count += own
      return {
        metricName: `${name}_bucket`,
        labels: { le: this.#bounds[bucket] ?? '+Inf', ...labels },
        value: count,
        exemplar: this.#exemplars[bucket],
      }
    })
    samples.push({ metricName: `${name}_sum`, labels, value: this.#sum })
    samples.push({ metricName: `${name}_count`, labels, value: count })
    return samples
  }
}
