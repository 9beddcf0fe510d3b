import { collectDefaultMetrics, Counter, Registry } from 'prom-client'

/** promtool refuses the names of these, which prom-client adds for itself. */
const misnamedMetrics = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

let registry: Registry | undefined

/**
 * What the process itself uses: CPU, memory, files, garbage collection, event loop. One registry for all gateways of
 * a process: what prom-client starts to watch the event loop with cannot be stopped again.
 */
export function getProcessMetrics(): Registry {
  if (registry !== undefined) return registry
  registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamedMetrics) registry.removeSingleMetric(name)
  let counted = 0
  const active = new Counter({
    name: 'nodejs_eventloop_active_seconds_total',
    help: 'Time in which the event loop was at work: its rate is the share of one core that it may use.',
    // One that has no time left is not seen in the sum of several.
    aggregator: 'omit',
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
