import { Counter, type Registry } from 'prom-client'

export function registerLogMetrics(registry: Registry): (lines: number) => void {
  const counter = new Counter({
    name: 'catalog_gateway_log_lines_dropped_total',
    help: 'Log lines dropped because standard error failed or was blocked for too long.',
    registers: [registry],
  })
  return (lines) => counter.inc(lines)
}
