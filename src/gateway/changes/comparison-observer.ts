import { Gauge, type Registry } from 'prom-client'
import type { Logger } from '../../observability/log/gateway-log.ts'
import type { ComparisonRound } from './version-comparer.ts'

/** Registers metrics of the latest comparison of each upstream, and logs when they become incomplete or complete. */
export function createComparisonObserver(registry: Registry, log: Logger): (round: ComparisonRound) => void {
  const registers = [registry]
  const tables = new Gauge({
    name: 'catalog_gateway_upstream_compared_tables',
    help: 'Tables whose newest version the latest comparison with the upstream has read.',
    labelNames: ['upstream'],
    registers,
  })
  const incomplete = new Gauge({
    name: 'catalog_gateway_upstream_comparison_incomplete',
    help: 'Whether the latest comparison with the upstream could not read all tables (1).',
    labelNames: ['upstream'],
    registers,
  })
  const incompleteUpstreams = new Set<string>()
  return ({ upstream, tables: count, problem }) => {
    tables.set({ upstream }, count)
    incomplete.set({ upstream }, problem === undefined ? 0 : 1)
    if (problem === undefined) {
      if (incompleteUpstreams.delete(upstream)) log.info({ upstream, tables: count }, 'comparison complete')
    } else if (!incompleteUpstreams.has(upstream)) {
      incompleteUpstreams.add(upstream)
      log.warn({ upstream, tables: count, reason: problem }, 'comparison incomplete')
    }
  }
}
