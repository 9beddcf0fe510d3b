import { Registry, type RegistryContentType } from 'prom-client'
import type { MetricSource } from './metric-source.ts'

interface Exposition {
  readonly contentType: string
  readonly text: string
}

/**
 * Renders the metrics of these registries, whose names must be disjoint, in the format that the client accepts: text
 * 0.0.4, or OpenMetrics 1.0.0, which alone supports exemplars.
 */
export async function renderMetrics(
  registries: readonly Registry[],
  accept: string | undefined,
): Promise<Exposition> {
  const metrics = registries.flatMap((registry) => registry.getMetricsAsArray())
  const exposed: Registry<RegistryContentType> = new Registry()
  const isOpen = wantsOpenMetrics(accept)
  if (isOpen) exposed.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  for (const metric of metrics) exposed.registerMetric(isOpen ? toOpenMetrics(metric) : metric)
  return { contentType: exposed.contentType, text: await exposed.metrics() }
}

/** Prometheus lists it first; no known client lists it with `q=0`. */
function wantsOpenMetrics(accept = ''): boolean {
  return /application\/openmetrics-text\s*;\s*version=1\.0\.0\b/.test(accept)
}

/**
 * Converts a metric to OpenMetrics, where the name of a counter has no `_total` and only its samples do. prom-client
 * would rename the metric itself, for the other format as well.
 */
function toOpenMetrics(metric: MetricSource): MetricSource {
  const { type } = metric
  if (type !== 'counter') return metric
  const name = metric.name.replace(/_total$/, '')
  return { name, type, get: async () => ({ ...(await metric.get()), name }) }
}
