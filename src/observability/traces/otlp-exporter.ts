import { setTimeout as pause } from 'node:timers/promises'
import type { HrTime } from '@opentelemetry/api'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'
import { Backoff } from '../../lib/index.ts'
import { type OtlpClient, PostRefused, toOtlpAttributes } from '../../outbound/index.ts'

/** Receives what became of spans. Must not throw. */
export interface SpanObserver {
  readonly dropped: (spans: number, reason: 'queue_full' | 'export_failed', cause?: unknown) => void
  readonly exported: () => void
}

/** Of the export of spans. */
export interface SpanBounds {
  /** Of one export, also at shutdown. */
  readonly timeoutMs: number
  /** Includes spans that are being exported. Further ones are dropped and counted. */
  readonly maxQueuedSpans: number
}

const maxBatchSpans = 512
const batchDelayMs = 1_000
/** Statuses after which OTLP/HTTP 1.x repeats a request. */
const retryableStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])
const retryDelays = { minMs: 1_000, maxMs: 5_000 }

/**
 * Posts batches of ended spans: the exporter of the SDK comes with protocol buffers, logs and metrics, and its queue drops
 * spans silently. A batch that fails for a while is sent again within the timeout.
 */
export function createOtlpExporter(
  client: OtlpClient,
  observer: SpanObserver,
  { timeoutMs, maxQueuedSpans }: SpanBounds,
): SpanProcessor {
  let batch: ReadableSpan[] = []
  let queued = 0
  let timer: NodeJS.Timeout | undefined
  const exports = new Set<Promise<void>>()

  function exportBatch(): void {
    clearTimeout(timer)
    timer = undefined
    const spans = batch
    if (spans.length === 0) return
    batch = []
    const exporting = send(spans)
      .then(observer.exported, (error: unknown) => observer.dropped(spans.length, 'export_failed', error))
      .then(() => {
        queued -= spans.length
        exports.delete(exporting)
      })
    exports.add(exporting)
  }

  async function send(spans: readonly ReadableSpan[]): Promise<void> {
    const message = createTraceRequest(spans)
    const signal = AbortSignal.timeout(timeoutMs)
    const delays = new Backoff(retryDelays)
    for (;;) {
      try {
        await client.post(message, signal)
        return
      } catch (error) {
        const isFinal = error instanceof PostRefused && !retryableStatuses.has(error.status)
        if (isFinal || signal.aborted) throw error
        await pause(delays.next(), undefined, { signal }).catch(() => {
          throw error
        })
      }
    }
  }

  async function forceFlush(): Promise<void> {
    exportBatch()
    await Promise.all(exports)
  }

  return {
    onStart: () => undefined,
    onEnd(span) {
      if (queued >= maxQueuedSpans) {
        observer.dropped(1, 'queue_full')
        return
      }
      queued += 1
      batch.push(span)
      if (batch.length >= maxBatchSpans) exportBatch()
      else timer ??= setTimeout(exportBatch, batchDelayMs).unref()
    },
    forceFlush,
    async shutdown() {
      await forceFlush()
      await client.close()
    },
  }
}

/** Creates an ExportTraceServiceRequest (opentelemetry.proto.collector.trace.v1). All spans are of one tracer. */
function createTraceRequest(spans: readonly ReadableSpan[]): object {
  const [first] = spans
  if (first === undefined) return { resourceSpans: [] }
  const { name, version } = first.instrumentationScope
  const resource = { attributes: toOtlpAttributes(first.resource.attributes) }
  return {
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name, version }, spans: spans.map(toOtlp) }] }],
  }
}

/** That the flags say whether the parent is remote. */
const hasIsRemote = 0x100
const isRemote = 0x200

function toOtlp(span: ReadableSpan): object {
  const { traceId, spanId, traceState, traceFlags } = span.spanContext()
  return {
    traceId,
    spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    traceState: traceState?.serialize(),
    flags: (traceFlags & 0xff) | hasIsRemote | (span.parentSpanContext?.isRemote === true ? isRemote : 0),
    name: span.name,
    // The protocol has a value for unspecified before those of the API.
    kind: span.kind + 1,
    startTimeUnixNano: toNanoseconds(span.startTime),
    endTimeUnixNano: toNanoseconds(span.endTime),
    attributes: toOtlpAttributes(span.attributes),
    status: span.status,
  }
}

/** A fixed64 is a string in JSON; doubles would lose its last digits. */
function toNanoseconds([seconds, nanoseconds]: HrTime): string {
  return `${seconds}${String(nanoseconds).padStart(9, '0')}`
}
