import { Counter, type Registry } from 'prom-client'

/** Counts the lines of the log that were lost. */
export function linesLost(registry: Registry): (lines: number) => void {
  const counter = new Counter({
    name: 'catalog_gateway_log_lines_lost_total',
    help: 'Lines of the log that were not written: standard error failed, or took nothing for too long.',
    registers: [registry],
  })
  return (lines) => counter.inc(lines)
}
