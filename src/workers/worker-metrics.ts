import { Counter, Gauge, type Registry } from 'prom-client'

const restartReasons = ['exited', 'unresponsive', 'start_failed'] as const
export type RestartReason = (typeof restartReasons)[number]

export interface WorkerMetrics {
  readonly countRestart: (reason: RestartReason) => void
}

export function createWorkerMetrics(registry: Registry, countServing: () => number): WorkerMetrics {
  const gauge = new Gauge({
    name: 'catalog_gateway_workers_serving',
    help: 'Workers that accept requests.',
    registers: [],
    collect() {
      this.set(countServing())
    },
  })
  registry.registerMetric(gauge)
  const restarts = new Counter({
    name: 'catalog_gateway_worker_restarts_total',
    help: 'Worker restarts by reason (exited, unresponsive, start_failed).',
    labelNames: ['reason'],
    registers: [registry],
  })
  for (const reason of restartReasons) restarts.inc({ reason }, 0)
  return { countRestart: (reason) => restarts.inc({ reason }) }
}
