import { Counter, type Registry } from 'prom-client'
import type { Logger } from '../log/gateway-log.ts'
import type { SpanObserver } from './span-queue.ts'

/** Counts dropped spans, and logs when the receiver starts and stops failing. */
export function registerSpanMetrics(registry: Registry, log: Logger): SpanObserver {
  const counter = new Counter({
    name: 'catalog_gateway_trace_spans_dropped_total',
    help: 'Spans that were not exported, by reason (queue_full, export_failed).',
    labelNames: ['reason'],
    registers: [registry],
  })
  let isFailing = false
  return {
    dropped(spans, reason, cause) {
      counter.inc({ reason }, spans)
      if (reason !== 'export_failed' || isFailing) return
      isFailing = true
      log.warn({ error: String(cause) }, 'span export failed')
    },
    exported() {
      if (isFailing) log.info('span export recovered')
      isFailing = false
    },
  }
}
