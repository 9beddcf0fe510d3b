import type { Aggregator } from 'prom-client'

export interface MetricData {
  readonly name: string
  readonly help: string
  /** `counter`, `gauge`, `histogram` or `summary`. */
  readonly type: string
  readonly aggregator: Aggregator
  readonly values: readonly MetricValue[]
}

export interface MetricValue {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** Set for the parts of a histogram. */
  readonly metricName?: string
  readonly exemplar?: { readonly timestamp?: number } | undefined
}

/** The part of a metric that a registry uses. */
export interface MetricSource {
  readonly name: string
  readonly type: string
  get(): Promise<MetricData>
}

// The types of prom-client require of a metric more than its registry uses, declare `type` as a number, and lack the
// values that only histograms have.
declare module 'prom-client' {
  interface Registry<BoundRegistryContentType extends RegistryContentType = PrometheusContentType> {
    registerMetric(metric: MetricSource): void
    getMetricsAsArray(): MetricSource[]
    getMetricsAsJSON(): Promise<MetricData[]>
  }
}
