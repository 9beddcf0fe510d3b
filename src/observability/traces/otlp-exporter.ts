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
export class OtlpExporter implements SpanProcessor {
  readonly #client: OtlpClient
  readonly #observer: SpanObserver
  readonly #bounds: SpanBounds
  #batch: ReadableSpan[] = []
  #queued = 0
  #timer: NodeJS.Timeout | undefined
  readonly #exports = new Set<Promise<void>>()

  constructor(client: OtlpClient, observer: SpanObserver, bounds: SpanBounds) {
    this.#client = client
    this.#observer = observer
    this.#bounds = bounds
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#queued >= this.#bounds.maxQueuedSpans) {
      this.#observer.dropped(1, 'queue_full')
      return
    }
    this.#queued += 1
    this.#batch.push(span)
    if (this.#batch.length >= maxBatchSpans) this.#exportBatch()
    else this.#timer ??= setTimeout(() => this.#exportBatch(), batchDelayMs).unref()
  }

  async forceFlush(): Promise<void> {
    this.#exportBatch()
    await Promise.all(this.#exports)
  }

  async shutdown(): Promise<void> {
    await this.forceFlush()
    await this.#client.close()
  }

  #exportBatch(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const spans = this.#batch
    if (spans.length === 0) return
    this.#batch = []
    const exporting = this.#export(spans).then(() => {
      this.#queued -= spans.length
      this.#exports.delete(exporting)
    })
    this.#exports.add(exporting)
  }

  async #export(spans: readonly ReadableSpan[]): Promise<void> {
    try {
      await this.#send(createTraceRequest(spans))
      this.#observer.exported()
    } catch (error) {
      this.#observer.dropped(spans.length, 'export_failed', error)
    }
  }

  async #send(message: object): Promise<void> {
    const signal = AbortSignal.timeout(this.#bounds.timeoutMs)
    const delays = new Backoff(retryDelays)
    for (;;) {
      try {
        await this.#client.post(message, signal)
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
