import type { AuditLogOptions } from '../../audit/log/audit-log-options.ts'
import type { KubernetesClientOptions } from '../../lib/kubernetes/kubernetes-client.ts'
import type { UpstreamTuning } from '../upstream/upstream.ts'

/**
 * Deviations from constants that are no settings, because nobody could choose them from outside: tests and benchmarks
 * need short times and small queues. The default of each stands beside its reader.
 */
export interface GatewayTuning {
  readonly upstream?: Partial<UpstreamTuning> | undefined
  readonly auditLog?: Pick<AuditLogOptions, 'segmentBytes'> | undefined
  readonly loadSheddingThresholdMs?: number | undefined
  readonly maxQueuedSpans?: number | undefined
  readonly apiServer?: KubernetesClientOptions | undefined
}
