import { ExportResultCode } from '@opentelemetry/core'
import {
  BatchSpanProcessor,
  type BatchSpanProcessorOptions,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace'

export interface SpanObserver {
  readonly dropped: (spans: number, reason: 'queue_full' | 'export_failed', cause?: unknown) => void
  readonly exported: () => void
}

export interface SpanQueueOptions {
  readonly exporter: SpanExporter
  readonly batching: Omit<BatchSpanProcessorOptions, 'exporter' | 'maxQueueSize'>
  /** Includes spans that are being exported. */
  readonly maxSpans: number
  readonly observer: SpanObserver
}

/** The processor of the library drops spans silently, so the limit is enforced here. */
export function createSpanQueue({ exporter, batching, maxSpans, observer }: SpanQueueOptions): SpanProcessor {
  let held = 0
  const processor = new BatchSpanProcessor({
    ...batching,
    maxQueueSize: maxSpans,
    exporter: {
      export(spans, done) {
        exporter.export(spans, (result) => {
          held -= spans.length
          if (result.code === ExportResultCode.SUCCESS) observer.exported()
          else observer.dropped(spans.length, 'export_failed', result.error)
          done(result)
        })
      },
      shutdown: () => exporter.shutdown(),
    },
  })
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (held >= maxSpans) {
        observer.dropped(1, 'queue_full')
        return
      }
      held += 1
      processor.onEnd(span)
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  }
}
