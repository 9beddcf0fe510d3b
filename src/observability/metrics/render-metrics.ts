import { Registry, type RegistryContentType } from 'prom-client'

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
    getMetricsAsArray(): MetricSource[]
  }
}

interface Exposition {
  readonly contentType: string
  readonly text: string
}

/** Metric names must be disjoint. Formats: text 0.0.4, or OpenMetrics 1.0.0, which alone supports exemplars. */
export async function renderMetrics(
  registries: readonly Registry[],
  accept: string | undefined,
): Promise<Exposition> {
  const metrics = registries.flatMap((registry) => registry.getMetricsAsArray())
  const exposed: Registry<RegistryContentType> = new Registry()
  const isOpenMetrics = acceptsOpenMetrics(accept)
  if (isOpenMetrics) exposed.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  for (const metric of metrics) exposed.registerMetric(isOpenMetrics ? toOpenMetrics(metric) : metric)
  return { contentType: exposed.contentType, text: await exposed.metrics() }
}

/** Prometheus lists it first; no known client lists it with `q=0`. */
function acceptsOpenMetrics(accept = ''): boolean {
  return /application\/openmetrics-text\s*;\s*version=1\.0\.0\b/.test(accept)
}

/** A counter has `_total` only on its samples. prom-client would rename the metric for the other format as well. */
function toOpenMetrics(metric: MetricSource): MetricSource {
  const { type } = metric
  if (type !== 'counter') return metric
  const name = metric.name.replace(/_total$/, '')
  return { name, type, get: async () => ({ ...(await metric.get()), name }) }
}
