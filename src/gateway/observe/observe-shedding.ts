import { Gauge, type Registry } from 'prom-client'
import type { Shedding } from '../../limits/shedding.ts'

/** Adds the gauge of what is refused under overload; it is read when it is asked for. */
export function observeShedding(registry: Registry, shedding: Shedding): void {
  const gauge = new Gauge({
    name: 'catalog_gateway_load_shed_ratio',
    help: 'Ratio of the requests of a class that load shedding refuses (0 to 1), by upstream and class.',
    labelNames: ['upstream', 'class'],
    aggregator: 'average',
    registers: [],
    collect() {
      for (const { share, ...labels } of shedding.shares()) this.set(labels, share)
    },
  })
  registry.registerMetric(gauge)
}
