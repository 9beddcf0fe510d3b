import { Counter, Gauge, type Registry } from 'prom-client'

/** Why a process has to be started in the place of another one. */
const restartReasons = ['ended', 'hung', 'not_started'] as const
export type RestartReason = (typeof restartReasons)[number]

/** Counts what becomes of workers. */
export interface WorkerMetrics {
  readonly restarted: (reason: RestartReason) => void
}

/** Adds metrics of the workers; how many serve is read when it is asked for. */
export function observeWorkers(registry: Registry, serving: () => number): WorkerMetrics {
  const gauge = new Gauge({
    name: 'catalog_gateway_workers_serving',
    help: 'Workers that take requests, where there are several.',
    registers: [],
    collect() {
      this.set(serving())
    },
  })
  registry.registerMetric(gauge)
  const restarts = new Counter({
    name: 'catalog_gateway_worker_restarts_total',
    help: 'Workers that were started anew, by what became of the one before (ended, hung, not_started).',
    labelNames: ['reason'],
    registers: [registry],
  })
  for (const reason of restartReasons) restarts.inc({ reason }, 0)
  return { restarted: (reason) => restarts.inc({ reason }) }
}
