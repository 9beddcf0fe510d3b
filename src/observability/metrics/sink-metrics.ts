import { Counter, Gauge, type Registry } from 'prom-client'
import type { SinkObserver, SinkStatus } from '../../audit/sinks/sink-delivery.ts'
import type { Sinks } from '../../audit/sinks/open-sinks.ts'
import type { Logger } from '../log/gateway-log.ts'
import { createLogThrottle } from '../log/log-throttle.ts'

/** A failing sink fails repeatedly. */
const maxLinesPerSecond = 1

/** Counts from 0 for each sink, so that the first rejected record is an increase. */
export function createSinkObserver(
  registry: Registry,
  log: Logger,
  sinks: readonly { readonly name: string }[],
): SinkObserver {
  const registers = [registry]
  const labelNames = ['sink'] as const
  const counter = (name: string, help: string) =>
    new Counter({ name: `catalog_gateway_audit_sink_${name}_total`, help, labelNames, registers })
  const delivered = counter('records_delivered', 'Audit records delivered to the sink.')
  const failures = counter('delivery_failures', 'Failed deliveries of a batch to the sink; they are retried.')
  const rejected = counter(
    'records_rejected',
    'Audit records that the sink rejected permanently; a report of each is delivered if it is identified.',
  )
  for (const { name: sink } of sinks)
    for (const each of [delivered, failures, rejected]) each.inc({ sink }, 0)
  const lines = createLogThrottle(maxLinesPerSecond)
  return {
    delivered: (sink, records) => delivered.inc({ sink }, records),
    failed(sink, error) {
      failures.inc({ sink })
      const suppressed = lines.take(sink)
      if (suppressed !== undefined)
        log.warn({ sink, error: String(error), suppressed }, 'audit delivery failed')
    },
    cursorNotSaved: (sink, error) =>
      log.warn({ sink, error: String(error) }, 'audit sink position not saved'),
    rejected(sink, records, message) {
      rejected.inc({ sink }, records)
      log.error({ sink, records, message }, 'audit records rejected')
    },
  }
}

export function registerSinkMetrics(registry: Registry, sinks: Sinks): void {
  const gauge = (name: string, help: string, read: (status: SinkStatus) => number | undefined) =>
    new Gauge({
      name: `catalog_gateway_audit_sink_${name}`,
      help,
      labelNames: ['sink'],
      registers: [registry],
      collect() {
        for (const { sink, status } of sinks.status()) {
          const value = read(status)
          if (value !== undefined) this.set({ sink }, value)
        }
      },
    })
  gauge('lag_records', 'Durable audit records not yet delivered to the sink.', ({ lagRecords }) => lagRecords)
  gauge(
    'lag_seconds',
    'Age of the oldest record not yet delivered; 0 if there is none.',
    ({ lagSeconds }) => lagSeconds,
  )
  gauge(
    'last_success_timestamp_seconds',
    'Unix time of the last successful delivery to the sink.',
    ({ lastSuccess }) => lastSuccess && lastSuccess / 1000,
  )
}
