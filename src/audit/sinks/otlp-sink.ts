import type { DeliveredRecord } from '../formats/delivered-record.ts'
import { openPoster } from './post.ts'
import type { OtlpSettings } from './sink-settings.ts'
import type { Delivery, Sink } from './sink.ts'

/** What a receiver of logs learns of whoever sends them. */
export interface OtlpResource {
  readonly gateway: string
  readonly software: string
}

/**
 * Posts batches as OTLP logs (OTLP/HTTP 1.x, JSON encoding) to a URL that usually ends in `/v1/logs`. The encoding
 * is one small object, while the SDK has a queue of its own in memory that drops what does not fit.
 *
 * A receiver that takes a batch in part must not be sent it again (OTLP, partial success): what it refused is
 * told to `rejected`.
 */
export async function otlpSink(
  settings: OtlpSettings,
  resource: OtlpResource,
  rejected: (records: number, message: string) => void,
): Promise<Sink> {
  const poster = await openPoster(settings)
  return {
    async deliver(batch, signal) {
      const answer = await poster.post(
        'application/json',
        JSON.stringify(logsRequest(batch, resource)),
        signal,
      )
      const refusal = partialSuccess(answer)
      if (refusal) rejected(refusal.records, refusal.message)
    },
    close: () => poster.close(),
  }
}

/** An ExportLogsServiceRequest (opentelemetry.proto.collector.logs.v1) in its JSON encoding. */
function logsRequest(batch: readonly Delivery[], { gateway, software }: OtlpResource): object {
  return {
    resourceLogs: [
      {
        resource: {
          attributes: [
            attribute('service.name', 'catalog-gateway'),
            attribute('service.instance.id', gateway),
            attribute('service.version', software),
          ],
        },
        scopeLogs: [
          { scope: { name: 'catalog-gateway.audit', version: software }, logRecords: batch.map(logRecord) },
        ],
      },
    ],
  }
}

function logRecord({ id, text, record }: Delivery): object {
  const [severityNumber, severityText] = severityOf(record)
  return {
    timeUnixNano: nanoseconds(Date.parse(record.time)),
    observedTimeUnixNano: nanoseconds(Date.now()),
    severityNumber,
    severityText,
    eventName: `catalog-gateway.audit.${record.kind}`,
    body: { stringValue: text },
    attributes: [
      attribute('log.record.uid', id),
      ...('request' in record ? [attribute('catalog_gateway.request', record.request)] : []),
      ...('operation' in record && record.operation !== undefined
        ? [attribute('catalog_gateway.operation', record.operation)]
        : []),
    ],
  }
}

function attribute(key: string, value: string): object {
  return { key, value: { stringValue: value } }
}

/** A fixed64 is a string in JSON; doubles would lose its last digits. */
function nanoseconds(milliseconds: number): string {
  return `${milliseconds}000000`
}

/** What tells that the log may not be whole is an error; that somebody was refused, a warning. */
function severityOf({ kind }: DeliveredRecord): [number, string] {
  if (['gap', 'recovered', 'tampered', 'undelivered'].includes(kind)) return [17, 'ERROR']
  return kind === 'refusal' ? [13, 'WARN'] : [9, 'INFO']
}

interface ExportLogsAnswer {
  readonly partialSuccess?: { readonly rejectedLogRecords?: string | number; readonly errorMessage?: string }
}

function partialSuccess(answer: string): { records: number; message: string } | undefined {
  try {
    const { partialSuccess } = JSON.parse(answer) as ExportLogsAnswer
    const records = Number(partialSuccess?.rejectedLogRecords ?? 0)
    return records > 0 ? { records, message: partialSuccess?.errorMessage ?? '' } : undefined
  } catch {
    // An empty answer, or one in another encoding: all was taken, as far as can be told.
    return undefined
  }
}
