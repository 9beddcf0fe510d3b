import { setTimeout } from 'node:timers/promises'
import type { Attributes, HrTime } from '@opentelemetry/api'
import { ExportResultCode, type ExportResult } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { Backoff } from '../../lib/async/backoff.ts'
import { toError } from '../../lib/errors/to-error.ts'
import { PostRefused, type HttpPoster } from '../../lib/outbound/http-poster.ts'

/** Statuses after which OTLP/HTTP 1.x repeats a request. */
const retryableStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])
const retryDelays = { minMs: 1_000, maxMs: 5_000 }

/**
 * Posts batches of spans as OTLP/HTTP 1.x in the JSON encoding: the exporter of the SDK comes with protocol buffers, logs
 * and metrics. A batch that fails for a while is sent again within the timeout. `readHeaders` is called for each request.
 */
export function createOtlpExporter(
  poster: HttpPoster,
  readHeaders: () => Promise<Readonly<Record<string, string>>>,
  timeoutMs: number,
): SpanExporter {
  const send = async (spans: readonly ReadableSpan[]): Promise<void> => {
    const body = JSON.stringify(createTraceRequest(spans))
    const signal = AbortSignal.timeout(timeoutMs)
    const delays = new Backoff(retryDelays)
    for (;;) {
      const headers = { 'content-type': 'application/json', ...(await readHeaders()) }
      try {
        await poster.post(headers, body, signal)
        return
      } catch (error) {
        const isFinal = error instanceof PostRefused && !retryableStatuses.has(error.status)
        if (isFinal || signal.aborted) throw error
        await setTimeout(delays.next(), undefined, { signal }).catch(() => {
          throw error
        })
      }
    }
  }
  async function report(spans: readonly ReadableSpan[], done: (result: ExportResult) => void): Promise<void> {
    try {
      await send(spans)
    } catch (error) {
      done({ code: ExportResultCode.FAILED, error: toError(error) })
      return
    }
    done({ code: ExportResultCode.SUCCESS })
  }
  return {
    export: (spans, done) => {
      void report(spans, done)
    },
    shutdown: () => poster.close(),
  }
}

/** Creates an ExportTraceServiceRequest (opentelemetry.proto.collector.trace.v1). All spans are of one tracer. */
function createTraceRequest(spans: readonly ReadableSpan[]): object {
  const [first] = spans
  if (first === undefined) return { resourceSpans: [] }
  const { name, version } = first.instrumentationScope
  const resource = { attributes: listAttributes(first.resource.attributes) }
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
    attributes: listAttributes(span.attributes),
    status: span.status,
  }
}

/** A fixed64 is a string in JSON; doubles would lose its last digits. */
function toNanoseconds([seconds, nanoseconds]: HrTime): string {
  return `${seconds}${String(nanoseconds).padStart(9, '0')}`
}

function listAttributes(attributes: Attributes): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }))
}

function toValue(value: unknown): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toValue) } }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: value } : { doubleValue: value }
  return { stringValue: String(value) }
}
