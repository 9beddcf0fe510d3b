import type { Charge } from '../limits/shared/shared-buckets.ts'
import type { Readiness } from '../observability/health/readiness.ts'
import type { MetricData } from '../observability/metrics/metric-source.ts'
import type { GatewaySettings } from '../config/gateway-settings.ts'

export interface StartMessage {
  readonly type: 'start'
  readonly settings: GatewaySettings
  readonly adminUrl: string
}

export interface WorkerReports {
  readonly heartbeat: true
  readonly readiness: Readiness
  readonly metrics: readonly MetricData[]
}

export type MessageToWorker =
  | StartMessage
  | { readonly type: 'requestReport'; readonly id: number; readonly about: keyof WorkerReports }
  | { readonly type: 'charged'; readonly id: number; readonly fillTimes: readonly number[] }
  | { readonly type: 'reload' }
  | { readonly type: 'stop' }

export type MessageFromWorker =
  /** The worker listens for messages; earlier ones are lost. */
  | { readonly type: 'listening' }
  | { readonly type: 'serving'; readonly url: string }
  /** The worker cannot start; the message is for the user. */
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'report'; readonly id: number; readonly report: Partial<WorkerReports> }
  /** `charged` returns the milliseconds until the buckets are full. */
  | { readonly type: 'charge'; readonly id: number; readonly charges: readonly Charge[] }
