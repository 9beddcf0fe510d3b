import { SinkDelivery, type SinkObserver, type SinkStatus } from './sink-delivery.ts'
import { findOldestSegment, type DurableEnd } from './log-follower.ts'
import { createHttpSink } from './http-sink.ts'
import { createKafkaSink } from './kafka-sink.ts'
import { createOtlpSink, type OtlpResource } from './otlp-sink.ts'
import type { SinkSettings } from '../../config/audit/audit-sink-settings.ts'
import type { Sink } from './sink.ts'
import { createStdoutSink } from './stdout-sink.ts'

/** What the sinks of a log are opened with. */
export interface SinksOptions {
  /** The folder of the log. */
  readonly folder: string
  readonly settings: readonly SinkSettings[]
  readonly resource: OtlpResource
  readonly observer: SinkObserver
}

/** The sinks of one log. */
export interface Sinks {
  /** Begins to deliver. */
  start(durable: () => DurableEnd): void
  /** New records are durable. */
  wake(): void
  /** The oldest segment that a sink still has to read: retention keeps it and all newer ones. Undefined for none. */
  readonly oldestNeededSegment: () => string | undefined
  status(): readonly { readonly sink: string; readonly status: SinkStatus }[]
  /** Delivers what is left, as far as that goes well and soon. */
  close(): Promise<void>
}

/** What a closing gateway waits for its sinks at most; the rest is delivered after the next start. */
const graceMs = 5_000

/** Opens the sinks, and reads how far each has come. Throws when a file of the settings cannot be read. */
export async function openSinks({ folder, settings, resource, observer }: SinksOptions): Promise<Sinks> {
  const deliveries = await Promise.all(
    settings.map(async (each) => {
      const sink = await openSink(each, resource, observer)
      return SinkDelivery.open({ folder, settings: each, sink, observer })
    }),
  )
  return {
    start: (durable) => deliveries.forEach((delivery) => delivery.start(durable)),
    wake: () => deliveries.forEach((delivery) => delivery.wake()),
    oldestNeededSegment: () =>
      findOldestSegment(deliveries.flatMap(({ neededSegment }) => neededSegment ?? [])),
    status: () => deliveries.map((delivery) => ({ sink: delivery.name, status: delivery.status() })),
    close: async () => void (await Promise.all(deliveries.map((delivery) => delivery.close(graceMs)))),
  }
}

function openSink(
  settings: SinkSettings,
  resource: OtlpResource,
  observe: SinkObserver,
): Promise<Sink> | Sink {
  if (settings.type === 'stdout') return createStdoutSink()
  if (settings.type === 'http') return createHttpSink(settings)
  if (settings.type === 'kafka') return createKafkaSink(settings)
  return createOtlpSink(settings, resource, (records, message) =>
    observe.rejected(settings.name, records, message),
  )
}
