import {
  defaultTuning,
  SinkDelivery,
  type DeliveryTuning,
  type SinkObserver,
  type SinkStatus,
} from './sink-delivery.ts'
import type { DurableEnd } from './sink.ts'
import { createOtlpSink, type OtlpResource } from './otlp-sink.ts'
import { compareByAge } from '../storage/segment-names.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import type { SinkSettings } from '../../config/index.ts'
import { createStdoutSink } from './stdout-sink.ts'

export interface SinksOptions {
  readonly folder: string
  readonly settings: readonly SinkSettings[]
  /** Deviations from `defaultTuning`. */
  readonly tuning?: Partial<DeliveryTuning>
  readonly resource: OtlpResource
  readonly observer: SinkObserver
  readonly outbound: Outbound
}

export interface Sinks {
  start(durable: () => DurableEnd): void
  wake(): void
  /** Undefined if no sink needs a segment; otherwise retention keeps it and all newer ones. */
  readonly oldestNeededSegment: () => string | undefined
  status(): readonly { readonly sink: string; readonly status: SinkStatus }[]
  /** Tries to deliver the remaining records for a short time, then closes the sinks. */
  close(): Promise<void>
}

/** Maximum delay of a shutdown by sinks; the remaining records are delivered after the next start. */
const graceMs = 5_000

/** Opens the sinks and reads their cursors. Rejects if a file of the settings cannot be read. */
export async function openSinks(options: SinksOptions): Promise<Sinks> {
  const { folder, settings, observer, resource, outbound } = options
  const tuning = { ...defaultTuning, ...options.tuning }
  const deliveries = await Promise.all(
    settings.map(async (each) => {
      const { name } = each
      const sink =
        each.type === 'stdout'
          ? createStdoutSink()
          : await createOtlpSink(each, resource, observer.rejected.bind(observer, name), outbound)
      return SinkDelivery.open({ name, folder, tuning, sink, observer })
    }),
  )
  return {
    start: (durable) => deliveries.forEach((delivery) => delivery.start(durable)),
    wake: () => deliveries.forEach((delivery) => delivery.wake()),
    oldestNeededSegment: () =>
      deliveries.flatMap(({ neededSegment }) => neededSegment ?? []).toSorted(compareByAge)[0],
    status: () => deliveries.map((delivery) => ({ sink: delivery.name, status: delivery.status() })),
    close: async () => void (await Promise.all(deliveries.map((delivery) => delivery.close(graceMs)))),
  }
}
