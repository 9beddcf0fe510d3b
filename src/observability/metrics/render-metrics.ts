import { Registry, type Counter, type Metric, type RegistryContentType } from 'prom-client'

/** Metrics as they are answered. */
interface Exposition {
  readonly contentType: string
  readonly text: string
}

/**
 * Writes the metrics of these registries, which have no name twice, in the format that the client asks for: text of
 * version 0.0.4, or OpenMetrics 1.0.0, which alone can show exemplars.
 */
export async function renderMetrics(
  registries: readonly Registry[],
  accept: string | undefined,
): Promise<Exposition> {
  const metrics = registries.flatMap((registry) => registry.getMetricsAsArray() as unknown as Metric[])
  const exposed: Registry<RegistryContentType> = new Registry()
  const isOpen = wantsOpenMetrics(accept)
  if (isOpen) exposed.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  for (const metric of metrics) exposed.registerMetric(isOpen ? toOpenMetrics(metric) : metric)
  return { contentType: exposed.contentType, text: await exposed.metrics() }
}

/** Prometheus names it first; whoever names it and refuses it (`q=0`) is not known. */
function wantsOpenMetrics(accept = ''): boolean {
  return /application\/openmetrics-text\s*;\s*version=1\.0\.0\b/.test(accept)
}

/**
 * The same metric for OpenMetrics, where the name of a counter has no `_total` and only its samples have. prom-client
 * would change the name of the metric itself, for good and for the other format too.
 */
function toOpenMetrics(metric: Metric): Metric {
  const { name, type } = metric as unknown as { readonly name: string; readonly type: string }
  if (type !== 'counter') return metric
  const family = name.replace(/_total$/, '')
  const counter = metric as Counter
  const view = { name: family, get: async () => ({ ...(await counter.get()), name: family }) }
  return view as unknown as Metric
}
