import type { AuditLogOptions } from '../../audit/log/audit-log-options.ts'
import type { ClusterAccess } from '../../lib/kubernetes/in-cluster.ts'
import type { SpanBounds } from '../../observability/traces/traces.ts'
import type { BodyBounds, ClientBounds, UpstreamBounds } from '../bounds.ts'
import type { ResolutionTimes } from '../changes/outcome-resolver.ts'

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
