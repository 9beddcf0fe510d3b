import type { Charge } from '../limits/shared/shared-buckets.ts'
import type { MetricData } from '../observability/metrics/metric-source.ts'
import type { GatewaySettings } from '../config/gateway-settings.ts'

/** Parameters of a worker. */
export interface StartMessage {
  readonly what: 'begin'
  readonly settings: GatewaySettings
  readonly adminUrl: string
  readonly pageTokenSecret: Uint8Array
}

/** Reports that the primary process requests from a worker. */
export interface WorkerReports {
  /** Heartbeat. */
  readonly life: true
  /** Problems by the name of the check. */
  readonly problems: Readonly<Record<string, string>>
  readonly metrics: readonly MetricData[]
}

export type MessageToWorker =
  | StartMessage
  | { readonly what: 'requestReport'; readonly id: number; readonly about: keyof WorkerReports }
  | { readonly what: 'charged'; readonly id: number; readonly fills: readonly number[] }
  | { readonly what: 'reload' }
  | { readonly what: 'stop' }

export type MessageFromWorker =
  /** The worker listens for messages; earlier ones are lost. */
  | { readonly what: 'listening' }
  | { readonly what: 'serving'; readonly url: string }
  /** The worker cannot start; the message is for the user. */
  | { readonly what: 'failed'; readonly message: string }
  | { readonly what: 'report'; readonly id: number; readonly report: Partial<WorkerReports> }
  /** Charges to limits; `charged` returns how full the buckets are. */
  | { readonly what: 'charge'; readonly id: number; readonly charges: readonly Charge[] }
