import type { BucketStore } from '../../limits/shared/bucket-store.ts'
import type { Registry } from 'prom-client'
import type { ReadinessCheck } from '../../observability/health/readiness.ts'

/** How a worker takes part in a gateway of several processes. */
export interface WorkerOptions {
  /** URL of the admin port, which another process has. */
  readonly adminUrl: string
  /** Counts limits for all workers. */
  readonly charge: BucketStore['charge']
  /** Receives what the admin port shows. */
  readonly setAdminSources: (registries: () => readonly Registry[], checks: readonly ReadinessCheck[]) => void
}
