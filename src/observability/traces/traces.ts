import type { IncomingHttpHeaders } from 'node:http'
import { hostname } from 'node:os'
import { ROOT_CONTEXT, type TextMapGetter } from '@opentelemetry/api'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  type BatchSpanProcessorOptions,
  ParentBasedSampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { resolveTracesEndpoint, type TracesSettings } from '../../config/index.ts'
import { readHeaderValue } from '../../lib/fs/read-secret.ts'
import { createHttpPoster } from '../../lib/outbound/http-poster.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { createOtlpExporter } from './otlp-exporter.ts'
import { type RequestSpans, startRequestSpans } from './request-spans.ts'

export interface Traces {
  /** `startedAt` is a time of performance.now(). */
  startRequest(headers: IncomingHttpHeaders, startedAt: number): RequestSpans
  /** Exports pending spans, within the timeout. Never rejects. */
  close(): Promise<void>
}

/** A traceparent has 55 characters today; future versions may be longer (W3C Trace Context, 4.3). */
const maxTraceparentLength = 256
/** Of the export of spans. */
export interface SpanBounds {
  /** Of one export, also at shutdown. */
  readonly timeoutMs: number
  /** Further spans are dropped and counted. */
  readonly maxQueuedSpans: number
}

const defaultBounds: SpanBounds = { timeoutMs: 5_000, maxQueuedSpans: 16_384 }
const maxBatchSpans = 512
const batchDelayMs = 1_000

/**
 * Import this file only if traces are configured: the library costs time and memory. Throws if a file cannot be read.
 */
export async function openTraces(
  settings: TracesSettings,
  version: string,
  observer: SpanObserver,
  outbound: Outbound,
  bounds: Partial<SpanBounds> = {},
): Promise<Traces> {
  const { timeoutMs, maxQueuedSpans } = { ...defaultBounds, ...bounds }
  const batchSpans = Math.min(maxBatchSpans, maxQueuedSpans)
  // Shutdown exports the whole queue at once.
  const exporter = await openExporter(
    settings,
    outbound,
    timeoutMs,
    Math.ceil(maxQueuedSpans / batchSpans) + 1,
  )
  const provider = new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: resourceFromAttributes({
      'service.name': 'catalog-gateway',
      'service.version': version,
      'service.instance.id': hostname(),
    }).merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.sampleRatio) }),
    spanProcessors: [
      createSpanQueue({
        exporter,
        batching: {
          maxExportBatchSize: batchSpans,
          scheduledDelayMillis: batchDelayMs,
          // The exporter has its own timeout.
          exportTimeoutMillis: timeoutMs * 2,
        },
        maxSpans: maxQueuedSpans,
        observer,
      }),
    ],
  })
  const tracer = provider.getTracer('catalog-gateway', version)
  const propagator = new W3CTraceContextPropagator()
  const epoch = createPerformanceEpoch()
  return {
    startRequest(headers, startedAt) {
      const parent = propagator.extract(ROOT_CONTEXT, headers, headerGetter)
      return startRequestSpans(tracer, parent, epoch(), startedAt)
    },
    async close() {
      // Failed exports have been counted; the exporter is then still open.
      await provider.shutdown().catch(() => exporter.shutdown())
    },
  }
}

async function openExporter(
  settings: TracesSettings,
  outbound: Outbound,
  timeoutMs: number,
  maxConnections: number,
): Promise<SpanExporter> {
  const { caFile, credential } = settings
  const opener = await outbound.openClient('traces', { caFile })
  const readCredential = async (): Promise<Record<string, string>> =>
    credential ? { authorization: await readHeaderValue(credential.file) } : {}
  // Detects a missing file at start rather than at the first batch.
  await readCredential()
  const { url, headers } = resolveTracesEndpoint(settings, process.env)
  const poster = createHttpPoster(url, opener, timeoutMs, maxConnections)
  return createOtlpExporter(poster, async () => ({ ...headers, ...(await readCredential()) }), timeoutMs)
}

/** A repeated or overlong traceparent is ignored, and a new trace begins (W3C Trace Context, 3.2.2). */
const headerGetter: TextMapGetter<IncomingHttpHeaders> = {
  keys: (headers) => Object.keys(headers),
  get(headers, name) {
    const value = headers[name]
    if (typeof value !== 'string') return undefined
    const isValid = name !== 'traceparent' || (value.length <= maxTraceparentLength && !value.includes(','))
    return isValid ? value : undefined
  },
}

/**
 * Returns the wall-clock time (milliseconds since 1970) at which performance.now() was 0; off by at most one
 * millisecond. It never decreases unless the wall clock is set back: later events get later times.
 */
export function createPerformanceEpoch(clock = Date.now, sinceStart = () => performance.now()): () => number {
  let epoch = -Infinity
  return () => {
    // The clock truncates to whole milliseconds, so each sample is up to one too low; the maximum of many is best.
    const latest = clock() - sinceStart()
    if (latest > epoch || latest < epoch - 1) epoch = latest
    return epoch
  }
}

export interface SpanObserver {
  readonly dropped: (spans: number, reason: 'queue_full' | 'export_failed', cause?: unknown) => void
  readonly exported: () => void
}

interface SpanQueueOptions {
  readonly exporter: SpanExporter
  readonly batching: Omit<BatchSpanProcessorOptions, 'exporter' | 'maxQueueSize'>
  /** Includes spans that are being exported. */
  readonly maxSpans: number
  readonly observer: SpanObserver
}

/** The processor of the library drops spans silently, so the limit is enforced here. */
function createSpanQueue({ exporter, batching, maxSpans, observer }: SpanQueueOptions): SpanProcessor {
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
