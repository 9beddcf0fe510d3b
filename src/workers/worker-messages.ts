import type { Charge } from '../limits/shared/shared-buckets.ts'
import type { MetricData } from './merge-metrics.ts'
import type { GatewaySettings } from '../config/gateway-settings.ts'

/** What a worker is given before it begins. */
export interface StartMessage {
  readonly what: 'begin'
  readonly settings: GatewaySettings
  readonly adminUrl: string
  readonly pageTokenSecret: Uint8Array
}

/** What a worker may be asked, and what it answers. */
export interface WorkerReports {
  /** Nothing but that it reacts. */
  readonly life: undefined
  /** What is not well, by the name of the check. */
  readonly problems: Readonly<Record<string, string>>
  readonly metrics: readonly MetricData[]
}

/** What the primary process says to a worker. */
export type MessageToWorker =
  | StartMessage
  | { readonly what: 'ask'; readonly id: number; readonly about: keyof WorkerReports }
  | { readonly what: 'charged'; readonly id: number; readonly fills: readonly number[] }
  | { readonly what: 'reload' }
  | { readonly what: 'stop' }

/** What a worker says to the primary process. */
export type MessageFromWorker =
  /** It has its ears open: what was said before, nobody heard. */
  | { readonly what: 'there' }
  | { readonly what: 'serving'; readonly url: string }
  /** It could not begin; the message is for the user. */
  | { readonly what: 'failed'; readonly message: string }
  | { readonly what: 'answer'; readonly id: number; readonly answer: WorkerReports[keyof WorkerReports] }
  /** What callers took of limits; `charged` answers how full the buckets are. */
  | { readonly what: 'charge'; readonly id: number; readonly charges: readonly Charge[] }
