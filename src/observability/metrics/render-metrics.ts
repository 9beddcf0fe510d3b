import { Registry, type RegistryContentType } from 'prom-client'
import type { MetricSource } from './duration-histogram.ts'

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
