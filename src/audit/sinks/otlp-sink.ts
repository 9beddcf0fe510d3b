import {
  openOtlpClient,
  type Outbound,
  PostRefused,
  toOtlpAttributes,
  toSignalUrl,
} from '../../outbound/index.ts'
import { getMembers, parseJsonBytes } from '../../lib/index.ts'
import type { OtlpSettings } from '../../config/index.ts'
import { ContentRefused, deliveryTimeoutMs, type Delivery, type Sink } from './sink.ts'

export interface OtlpResource {
  readonly gateway: string
  readonly software: string
}

/** Other errors of clients are about the credential, the URL or the rate (RFC 9110 section 15.5, RFC 6585). */
const contentStatuses: ReadonlySet<number> = new Set([400, 413, 422])

/**
 * Posts batches as OTLP logs (OTLP/HTTP 1.x, JSON encoding), sequentially over one connection. The encoding is one small
 * object; the SDK would queue in memory and drop records. Rejected records of a partially accepted batch must not be sent
 * again: they are reported to `onRejected`. Reads the files of the settings and rejects if that fails; sends nothing yet.
 */
export async function createOtlpSink(
  settings: OtlpSettings,
  resource: OtlpResource,
  onRejected: (records: number, message: string) => void,
  outbound: Outbound,
): Promise<Sink> {
  const url = toSignalUrl(settings.url, '/v1/logs')
  const options = { url, settings, timeoutMs: deliveryTimeoutMs }
  const client = await openOtlpClient(`audit.sinks.${settings.name}`, options, outbound)
  return {
    async deliver(batch, signal) {
      const message = createLogsRequest(batch, resource)
      const response = await client.post(message, signal).catch((error: unknown) => {
        const isContent = error instanceof PostRefused && contentStatuses.has(error.status)
        throw isContent ? new ContentRefused(error.message) : error
      })
      const rejection = parsePartialSuccess(response)
      if (rejection) onRejected(rejection.records, rejection.message)
    },
    close: () => client.close(),
  }
}

/** Creates an ExportLogsServiceRequest (opentelemetry.proto.collector.logs.v1) in the JSON encoding. */
function createLogsRequest(batch: readonly Delivery[], { gateway, software }: OtlpResource): object {
  return {
    resourceLogs: [
      {
        resource: {
          attributes: toOtlpAttributes({
            'service.name': 'catalog-gateway',
            'service.instance.id': gateway,
            'service.version': software,
          }),
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

/** Kinds that indicate that the log or its delivery may be incomplete. */
const incompleteKinds: ReadonlySet<string> = new Set(['gap', 'recovered', 'tampered', 'undelivered'])

/** Returns SeverityNumber and severity text. */
function getSeverity(record: Delivery['record']): readonly [number: number, text: string] {
  if (incompleteKinds.has(record.kind)) return [17, 'ERROR']
  const isUncertain = 'result' in record && (record.result === 'unknown' || record.result === 'undecided')
  return isUncertain || record.kind === 'refusal' ? [13, 'WARN'] : [9, 'INFO']
}

function createLogRecord({ id, text, record }: Delivery): object {
  const [severityNumber, severityText] = getSeverity(record)
  return {
    timeUnixNano: toNanoseconds(Date.parse(record.time)),
    observedTimeUnixNano: toNanoseconds(Date.now()),
    severityNumber,
    severityText,
    eventName: `catalog-gateway.audit.${record.kind}`,
    body: { stringValue: text },
    attributes: toOtlpAttributes({
      'log.record.uid': id,
      'catalog_gateway.request': 'request' in record ? record.request : undefined,
      'catalog_gateway.operation': 'operation' in record ? record.operation : undefined,
    }),
  }
}

/** A fixed64 is a string in JSON; doubles would lose its last digits. */
function toNanoseconds(milliseconds: number): string {
  return `${milliseconds}000000`
}

/** An empty response or one in another encoding does not report rejections: the batch counts as accepted. */
function parsePartialSuccess(response: string): { records: number; message: string } | undefined {
  const { partialSuccess } = getMembers(parseJsonBytes(Buffer.from(response)))
  const { rejectedLogRecords, errorMessage } = getMembers(partialSuccess)
  const records = Number(rejectedLogRecords ?? 0)
  const message = typeof errorMessage === 'string' ? errorMessage : ''
  return records > 0 ? { records, message } : undefined
}
