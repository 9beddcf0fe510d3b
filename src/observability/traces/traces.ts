import type { IncomingHttpHeaders } from 'node:http'
import { hostname } from 'node:os'
import { ROOT_CONTEXT, type TextMapGetter } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { resolveTracesEndpoint, type TracesSettings } from '../../config/index.ts'
import { openOtlpClient, type Outbound } from '../../outbound/index.ts'
import { OtlpExporter, type SpanBounds, type SpanObserver } from './otlp-exporter.ts'
import { type RequestSpans, startRequestSpans } from './request-spans.ts'

export interface Traces {
  /** `startedAt` is a time of performance.now(). */
  startRequest(headers: IncomingHttpHeaders, startedAt: number): RequestSpans
  /** Exports pending spans, within the timeout. Never rejects. */
  close(): Promise<void>
}

/** A traceparent has 55 characters today; future versions may be longer (W3C Trace Context, 4.3). */
const maxTraceparentLength = 256
const defaultBounds: SpanBounds = { timeoutMs: 5_000, maxQueuedSpans: 16_384 }
const maxConnections = 4

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
  const endpoint = resolveTracesEndpoint(settings, process.env)
  const client = await openOtlpClient(
    'traces',
    { ...endpoint, settings, timeoutMs, maxConnections },
    outbound,
  )
  const exporter = new OtlpExporter(client, observer, { timeoutMs, maxQueuedSpans })
  const provider = new TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: resourceFromAttributes({
      'service.name': 'catalog-gateway',
      'service.version': version,
      'service.instance.id': hostname(),
    }).merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.sampleRatio) }),
    spanProcessors: [exporter],
  })
  const tracer = provider.getTracer('catalog-gateway', version)
  const propagator = new W3CTraceContextPropagator()
  const epoch = createPerformanceEpoch()
  return {
    startRequest(headers, startedAt) {
      const parent = propagator.extract(ROOT_CONTEXT, headers, headerGetter)
      return startRequestSpans(tracer, parent, epoch(), startedAt)
    },
    close: () => exporter.shutdown(),
  }
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
