import { collectDefaultMetrics, Counter, Registry } from 'prom-client'

/** Default metrics of prom-client that promtool rejects by name. */
const misnamedMetrics = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

let registry: Registry | undefined

/** One registry for all gateways of a process, since prom-client cannot stop its event loop monitor. */
export function getProcessMetrics(): Registry {
  if (registry !== undefined) return registry
  registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamedMetrics) registry.removeSingleMetric(name)
  let counted = 0
  const active = new Counter({
    name: 'nodejs_eventloop_active_seconds_total',
    help: 'Time in which the event loop was at work: its rate is the share of one core that it may use.',
    registers: [],
    collect() {
      const seconds = performance.eventLoopUtilization().active / 1000
      this.inc(Math.max(0, seconds - counted))
      counted = Math.max(counted, seconds)
    },
  })
  registry.registerMetric(active)
  return registry
}
