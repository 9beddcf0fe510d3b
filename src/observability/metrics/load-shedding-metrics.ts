import { Gauge, type Registry } from 'prom-client'
import type { LoadShedder } from '../../limits/overload/load-shedder.ts'

export function registerLoadSheddingMetrics(registry: Registry, shedding: LoadShedder): void {
  const gauge = new Gauge({
    name: 'catalog_gateway_load_shed_ratio',
    help: 'Ratio of the requests of a class that load shedding refuses (0 to 1), by upstream and class.',
    labelNames: ['upstream', 'class'],
    registers: [],
    collect() {
      for (const { ratio, ...labels } of shedding.shedRatios()) this.set(labels, ratio)
    },
  })
  registry.registerMetric(gauge)
}
