import type { GatewaySettings } from '../../config/gateway-settings.ts'
import type { ClosingStack } from '../../lib/async/closing-stack.ts'
import {
  createFileFollower,
  type FileFollower,
  createReloadLog,
  type ReloadObserver,
} from '../../lib/fs/file-follower.ts'
import { openOutbound, type Outbound } from '../../lib/outbound/outbound.ts'
import { openLog, type GatewayLog, type Logger } from '../../observability/log/gateway-log.ts'
import { createMetrics, type Metrics } from '../../observability/metrics/metrics.ts'
import type { SpanObserver } from '../../observability/traces/span-queue.ts'
import type { Traces, SpanBounds } from '../../observability/traces/traces.ts'
import { areTracesDisabled, listUnreadVariables, type TracesSettings } from '../../config/traces-settings.ts'
import { version } from '../../version.ts'
import type { AuditLogOptions } from '../../audit/log/audit-log-options.ts'
import type { ClusterAccess } from '../../lib/kubernetes/in-cluster.ts'
import type { BodyBounds, ClientBounds, UpstreamBounds } from '../bounds.ts'
import type { ResolutionTimes } from '../changes/outcome-resolver.ts'
import { Counter, type Registry } from 'prom-client'
import { registerGauge } from '../../observability/metrics/register-gauge.ts'

/** Deviations from the fixed bounds: tests and benchmarks need short times, small queues and few connections. */
export interface GatewayTuning {
  readonly clients?: Partial<ClientBounds> | undefined
  readonly bodies?: Partial<BodyBounds> | undefined
  readonly maxJsonMemoryBytes?: number | undefined
  readonly upstream?: Partial<UpstreamBounds> | undefined
  readonly auditLog?: Pick<AuditLogOptions, 'segmentBytes'> | undefined
  readonly sharedLimitsTimeoutMs?: number | undefined
  readonly resolution?: Partial<ResolutionTimes> | undefined
  readonly loadSheddingThresholdMs?: number | undefined
  readonly apiServer?: ClusterAccess | undefined
  readonly spans?: Partial<SpanBounds> | undefined
}

export interface Bootstrap {
  readonly settings: GatewaySettings
  readonly tuning: GatewayTuning
  readonly closers: ClosingStack
  readonly metrics: Metrics
  readonly log: Logger
  readonly files: FileFollower
  readonly outbound: Outbound
}

/** The log, metrics and traces of a gateway. */
export interface Observability extends Bootstrap {
  readonly gatewayLog: GatewayLog
  readonly traces: Traces | undefined
}

/** Opens the log, the metrics and, if configured, the traces. */
export async function openObservability(
  settings: GatewaySettings,
  closers: ClosingStack,
  tuning: GatewayTuning = {},
): Promise<Observability> {
  const metrics = createMetrics(version, settings.metrics)
  const gatewayLog = openLog(settings.log, registerLogMetrics(metrics.registry))
  closers.push(() => gatewayLog.close())
  const log = gatewayLog.logger
  const files = createFileFollower(registerFileMetrics(metrics.registry, log, () => files.listFailing()))
  closers.push(() => files.close())
  const outbound = await openOutbound(settings.outbound, process.env, files.follow)
  for (const entry of outbound.malformedNoProxy) log.warn({ entry }, 'malformed entry of NO_PROXY')
  const observer = registerSpanMetrics(metrics.registry, log)
  const unread = settings.traces ? listUnreadVariables(process.env) : []
  if (unread.length > 0) log.warn({ variables: unread }, 'variables of OpenTelemetry without effect')
  const traces =
    settings.traces && !areTracesDisabled(process.env)
      ? await openTraces(settings.traces, observer, outbound, tuning)
      : undefined
  closers.push(() => traces?.close())
  return { settings, tuning, closers, metrics, log, files, outbound, gatewayLog, traces }
}

/** Imported on demand: a gateway without traces does not load the library. */
async function openTraces(
  settings: TracesSettings,
  observer: SpanObserver,
  outbound: Outbound,
  { spans }: GatewayTuning,
): Promise<Traces> {
  const library = await import('../../observability/traces/traces.ts')
  return library.openTraces(settings, version, observer, outbound, spans)
}

/** Logs and counts the reloads of files. `listFailing` returns the settings whose last reload failed. */
function registerFileMetrics(
  registry: Registry,
  log: Logger,
  listFailing: () => readonly string[],
): ReloadObserver {
  const reloads = new Counter({
    name: 'catalog_gateway_file_reloads_total',
    help: 'Reloads of changed files by setting and result (success, failure).',
    labelNames: ['setting', 'result'],
    registers: [registry],
  })
  registerGauge(
    registry,
    'files_outdated',
    'Settings whose files could not be read at their last change; the last good value stays in use.',
    () => listFailing().length,
  )
  const reloadLog = createReloadLog(log)
  return {
    reloaded(setting) {
      reloads.inc({ setting, result: 'success' })
      reloadLog.reloaded(setting)
    },
    failed(setting, cause) {
      reloads.inc({ setting, result: 'failure' })
      reloadLog.failed(setting, cause)
    },
  }
}

function registerLogMetrics(registry: Registry): (lines: number) => void {
  const counter = new Counter({
    name: 'catalog_gateway_log_lines_dropped_total',
    help: 'Log lines dropped because standard error failed or was blocked for too long.',
    registers: [registry],
  })
  return (lines) => counter.inc(lines)
}

/** Counts dropped spans, and logs when the receiver starts and stops failing. */
function registerSpanMetrics(registry: Registry, log: Logger): SpanObserver {
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
