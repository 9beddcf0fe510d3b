import { setTimeout as pause } from 'node:timers/promises'
import { Backoff } from '../../lib/index.ts'
import { type OtlpClient, PostRefused } from '../../outbound/index.ts'
import type { Logger } from '../log/gateway-log.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** Counts the spans that are lost, and logs when the receiver starts and stops failing. */
export interface SpanReport {
  readonly metrics: Pick<Metrics, 'trace_spans_dropped_total'>
  readonly log: Logger
}

/** Of the export of spans. */
export const defaultBounds = {
  /** Of one export, also at shutdown. */
  timeoutMs: 5_000,
  /** Includes spans that are being exported. Further ones are dropped and counted. */
  maxQueuedSpans: 16_384,
}

export type SpanBounds = typeof defaultBounds

const maxBatchSpans = 512
const batchDelayMs = 1_000
/** Statuses after which OTLP/HTTP 1.x repeats a request. */
const retryableStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])
const retryDelays = { minMs: 1_000, maxMs: 5_000 }

/** Posts batches of ended spans. A batch that fails for a while is sent again within the timeout. */
export function createSpanQueue(
  client: OtlpClient,
  createMessage: (spans: readonly object[]) => object,
  { metrics: { trace_spans_dropped_total: dropped }, log }: SpanReport,
  { timeoutMs, maxQueuedSpans }: SpanBounds,
) {
  let batch: object[] = []
  let queued = 0
  let timer: NodeJS.Timeout | undefined
  const exports = new Set<Promise<void>>()
  let isFailing = false

  function exportBatch(): void {
    clearTimeout(timer)
    timer = undefined
    const spans = batch
    if (spans.length === 0) return
    batch = []
    const exporting = send(createMessage(spans))
      .then(
        () => {
          if (isFailing) log.info('span export recovered')
          isFailing = false
        },
        (error: unknown) => {
          dropped.inc({ reason: 'export_failed' }, spans.length)
          if (!isFailing) log.warn({ error: String(error) }, 'span export failed')
          isFailing = true
        },
      )
      .then(() => {
        queued -= spans.length
        exports.delete(exporting)
      })
    exports.add(exporting)
  }

  async function send(message: object): Promise<void> {
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

  return {
    /** Takes a span of opentelemetry.proto.trace.v1 in the JSON encoding. */
    add(span: object): void {
      if (queued >= maxQueuedSpans) {
        dropped.inc({ reason: 'queue_full' })
        return
      }
      queued += 1
      batch.push(span)
      if (batch.length >= maxBatchSpans) exportBatch()
      else timer ??= setTimeout(exportBatch, batchDelayMs).unref()
    },
    /** Exports pending spans, within the timeout. Never rejects. */
    async close(): Promise<void> {
      exportBatch()
      await Promise.all(exports)
      await client.close()
    },
  }
}
