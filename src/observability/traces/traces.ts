import type { IncomingHttpHeaders } from 'node:http'
import { hostname } from 'node:os'
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type TextMapGetter,
  type TextMapSetter,
  type Tracer,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { resolveTracesEndpoint, type TracesSettings } from '../../config/index.ts'
import { openOtlpClient, type Outbound } from '../../outbound/index.ts'
import { createOtlpExporter, type SpanBounds, type SpanObserver } from './otlp-exporter.ts'

export type Traces = Awaited<ReturnType<typeof openTraces>>

/** A traceparent has 55 characters today; future versions may be longer (W3C Trace Context, 4.3). */
const maxTraceparentLength = 256
const defaultBounds: SpanBounds = { timeoutMs: 5_000, maxQueuedSpans: 16_384 }
const maxConnections = 4
const propagator = new W3CTraceContextPropagator()

/**
 * Import this file only if traces are configured: the library costs time and memory. Throws if a file cannot be read.
 */
export async function openTraces(
  settings: TracesSettings,
  version: string,
  observer: SpanObserver,
  outbound: Outbound,
  bounds: Partial<SpanBounds> = {},
) {
  const { timeoutMs, maxQueuedSpans } = { ...defaultBounds, ...bounds }
  const endpoint = resolveTracesEndpoint(settings, process.env)
  const client = await openOtlpClient(
    'traces',
    { ...endpoint, settings, timeoutMs, maxConnections },
    outbound,
  )
  const exporter = createOtlpExporter(client, observer, { timeoutMs, maxQueuedSpans })
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
  const epoch = createPerformanceEpoch()
  return {
    /** `startedAt` is a time of performance.now(). */
    startRequest(headers: IncomingHttpHeaders, startedAt: number): RequestSpans {
      const parent = propagator.extract(ROOT_CONTEXT, headers, headerGetter)
      return startRequestSpans(tracer, parent, epoch(), startedAt)
    },
    /** Exports pending spans, within the timeout. Never rejects. */
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

interface SpanEnd {
  readonly attributes: Attributes
  /** Whether something failed in the gateway or upstream; a refusal is no failure. */
  readonly isFailure: boolean
}

/** A root span, a span per stage, and client spans beneath the stages. Times are milliseconds of performance.now(). */
export type RequestSpans = ReturnType<typeof startRequestSpans>

/**
 * `parent` holds the remote span. All times derive from `epoch`, the time of performance.now() = 0, so changes of the
 * system clock do not affect a trace.
 */
function startRequestSpans(tracer: Tracer, parent: Context, epoch: number, startedAt: number) {
  const requestSpan = tracer.startSpan(
    'request',
    { kind: SpanKind.SERVER, startTime: epoch + startedAt },
    parent,
  )
  const isSampled = requestSpan.isRecording()
  const context = contextWith(requestSpan)
  let stage: Span | undefined
  const now = (): number => epoch + performance.now()
  const finish = (span: Span, { attributes, isFailure }: SpanEnd): void => {
    span.setAttributes(attributes)
    if (isFailure) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(now())
  }
  return {
    /** 32 hex digits, even if the trace is not sampled. */
    traceId: requestSpan.spanContext().traceId,
    /** Whether the trace is exported and can be looked up by its id. */
    isSampled,
    /** Ends the current stage and starts the next. */
    startStage(name: string, at: number): void {
      if (!isSampled) return
      stage?.end(epoch + at)
      stage = tracer.startSpan(name, { startTime: epoch + at }, context)
    },
    /** `headers` are the trace context for the upstream: names and values in turn. */
    startCall(method: string, attributes: Attributes) {
      const stageContext = stage === undefined ? context : contextWith(stage)
      const span = tracer.startSpan(
        method,
        { kind: SpanKind.CLIENT, startTime: now(), attributes },
        stageContext,
      )
      const headers: string[] = []
      propagator.inject(contextWith(span), headers, setter)
      return { headers, end: (result: SpanEnd): void => finish(span, result) }
    },
    /** Ends the request; `refusal` describes the last stage, which refused it. */
    end(operation: string, result: SpanEnd, refusal: Attributes | undefined): void {
      if (stage !== undefined) {
        finish(stage, { attributes: refusal ?? {}, isFailure: refusal !== undefined && result.isFailure })
      }
      requestSpan.updateName(operation)
      finish(requestSpan, result)
    },
  }
}

function contextWith(span: Span): Context {
  return trace.setSpan(ROOT_CONTEXT, span)
}

const setter: TextMapSetter<string[]> = {
  set(headers, name, value) {
    if (value !== '') headers.push(name, value)
  },
}
