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
export class DurationHistogram implements MetricSource {
  readonly type = 'histogram'
  readonly name: string
  /** Finds the series by label values in the order of the names. */
  readonly labels: (...values: string[]) => Series
  readonly #help: string
  readonly #series: Series[] = []

  constructor({ name, help, labelNames, buckets }: DurationHistogramOptions) {
    this.name = name
    this.#help = help
    this.labels = memoize((...values: string[]) => {
      const labels = Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? '']))
      const series = new Series(labels, buckets)
      this.#series.push(series)
      return series
    })
  }

  get() {
    const { name, type } = this
    const values = this.#series.flatMap((each) => each.getSamples(name))
    return Promise.resolve({ name, help: this.#help, type, values })
  }
}

class Series {
  readonly #labels: Readonly<Record<string, string>>
  readonly #bounds: readonly number[]
  /** Per bucket, not cumulative; the last one is above the highest bound. */
  readonly #counts: Float64Array
  #sum = 0

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.#labels = labels
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(seconds: number): void {
    let bucket = 0
    while (seconds > (this.#bounds[bucket] ?? Infinity)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += seconds
  }

  getSamples(name: string): object[] {
    const labels = this.#labels
    let count = 0
    const samples = Array.from(this.#counts, (own, bucket): object => {
      count += own
      return {
        metricName: `${name}_bucket`,
        labels: { le: this.#bounds[bucket] ?? '+Inf', ...labels },
        value: count,
      }
    })
    samples.push({ metricName: `${name}_sum`, labels, value: this.#sum })
    samples.push({ metricName: `${name}_count`, labels, value: count })
    return samples
  }
}
