import type { Outbound } from '../../lib/outbound/outbound.ts'
import { getMembers } from '../../lib/json/is-object.ts'
import { getSeverity, type Severity } from '../formats/record-severity.ts'
import { createHttpPoster } from './http-poster.ts'
import type { OtlpSettings } from '../../config/audit/audit-sink-settings.ts'
import type { Delivery, Sink } from './sink.ts'

export interface OtlpResource {
  readonly gateway: string
  readonly software: string
}

/**
 * Posts batches as OTLP logs (OTLP/HTTP 1.x, JSON encoding). The encoding is one small object; the SDK would queue in
 * memory and drop records. Rejected records of a partially accepted batch must not be sent again: they are reported to
 * `onRejected`.
 */
export async function createOtlpSink(
  settings: OtlpSettings,
  resource: OtlpResource,
  onRejected: (records: number, message: string) => void,
  outbound: Outbound,
): Promise<Sink> {
  const poster = await createHttpPoster(settings, outbound)
  return {
    async deliver(batch, signal) {
      const response = await poster.post(
        'application/json',
        JSON.stringify(createLogsRequest(batch, resource)),
        signal,
      )
      const rejection = parsePartialSuccess(response)
      if (rejection) onRejected(rejection.records, rejection.message)
    },
    close: () => poster.close(),
  }
}

/** Creates an ExportLogsServiceRequest (opentelemetry.proto.collector.logs.v1) in the JSON encoding. */
function createLogsRequest(batch: readonly Delivery[], { gateway, software }: OtlpResource): object {
  return {
    resourceLogs: [
      {
        resource: {
          attributes: [
            createAttribute('service.name', 'catalog-gateway'),
            createAttribute('service.instance.id', gateway),
            createAttribute('service.version', software),
          ],
        },
        scopeLogs: [
          {
            scope: { name: 'catalog-gateway.audit', version: software },
            logRecords: batch.map(createLogRecord),
          },
        ],
      },
    ],
  }
}

/** SeverityNumber and severity text of OTLP. */
const severities: Readonly<Record<Severity, readonly [number: number, text: string]>> = {
  Informational: [9, 'INFO'],
  Low: [13, 'WARN'],
  Medium: [13, 'WARN'],
  High: [17, 'ERROR'],
}

function createLogRecord({ id, text, record }: Delivery): object {
  const [severityNumber, severityText] = severities[getSeverity(record)]
  return {
    timeUnixNano: toNanoseconds(Date.parse(record.time)),
    observedTimeUnixNano: toNanoseconds(Date.now()),
    severityNumber,
    severityText,
    eventName: `catalog-gateway.audit.${record.kind}`,
    body: { stringValue: text },
    attributes: [
      createAttribute('log.record.uid', id),
      ...('request' in record ? [createAttribute('catalog_gateway.request', record.request)] : []),
      ...('operation' in record && record.operation !== undefined
        ? [createAttribute('catalog_gateway.operation', record.operation)]
        : []),
    ],
  }
}

function createAttribute(key: string, value: string): object {
  return { key, value: { stringValue: value } }
}

/** A fixed64 is a string in JSON; doubles would lose its last digits. */
function toNanoseconds(milliseconds: number): string {
  return `${milliseconds}000000`
}

function parsePartialSuccess(response: string): { records: number; message: string } | undefined {
  try {
    const { partialSuccess } = getMembers(JSON.parse(response))
    const { rejectedLogRecords, errorMessage } = getMembers(partialSuccess)
    const records = Number(rejectedLogRecords ?? 0)
    const message = typeof errorMessage === 'string' ? errorMessage : ''
    return records > 0 ? { records, message } : undefined
  } catch {
    // An empty response or one in another encoding does not report rejections: the batch counts as accepted.
    return undefined
  }
}
