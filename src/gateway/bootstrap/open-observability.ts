import type { GatewaySettings } from '../../config/index.ts'
import { type ClosingStack, createFileFollower } from '../../lib/index.ts'
import { openOutbound } from '../../outbound/index.ts'
import { createMetrics, openLog, type SpanBounds, openTraces } from '../../observability/index.ts'
import { version } from '../../version.ts'
import type { AuditLogOptions } from '../../audit/index.ts'
import type { ClusterAccess } from '../../kubernetes/index.ts'
import type { BodyBounds, ClientBounds, UpstreamBounds } from '../bounds.ts'
import type { ResolutionTimes } from '../changes/change-tracker.ts'

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

/** The parts that all others of a gateway are opened with. */
export type Bootstrap = Awaited<ReturnType<typeof openObservability>>

/** Opens the log, the metrics and, if configured, the traces. */
export async function openObservability(
  settings: GatewaySettings,
  closers: ClosingStack,
  tuning: GatewayTuning = {},
) {
  const metrics = createMetrics(version)
  const gatewayLog = openLog(settings.log, (lines) => metrics.log_lines_dropped_total.inc(lines))
  closers.push(() => gatewayLog.close())
  const log = gatewayLog.logger
  const files = createFileFollower(log, (setting, result) =>
    metrics.file_reloads_total.inc({ setting, result }),
  )
  metrics.files_outdated(() => files.listFailing().length)
  closers.push(() => files.close())
  const outbound = await openOutbound(settings.outbound, process.env, files.follow)
  for (const entry of outbound.malformedNoProxy) log.warn({ entry }, 'malformed entry of NO_PROXY')
  const { traces: setting } = settings
  const traces =
    setting && process.env['OTEL_SDK_DISABLED']?.toLowerCase() !== 'true'
      ? await openTraces(setting, version, { metrics, log }, outbound, tuning.spans)
      : undefined
  closers.push(() => traces?.close())
  return { settings, tuning, closers, metrics, log, files, outbound, gatewayLog, traces }
}
