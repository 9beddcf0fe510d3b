import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type TextMapSetter,
  type Tracer,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'

interface SpanEnd {
  readonly attributes: Attributes
  /** Whether something failed in the gateway or upstream; a refusal is no failure. */
  readonly isFailure: boolean
}

interface ClientSpan {
  /** Trace context for the upstream: names and values in turn. */
  readonly headers: readonly string[]
  end(result: SpanEnd): void
}

/** A root span, a span per stage, and client spans beneath the stages. Times are milliseconds of performance.now(). */
export interface RequestSpans {
  /** 32 hex digits, even if the trace is not sampled. */
  readonly traceId: string
  /** Whether the trace is exported and can be looked up by its id. */
  readonly isSampled: boolean
  /** Ends the current stage and starts the next. */
  startStage(stage: string, at: number): void
  startCall(method: string, attributes: Attributes): ClientSpan
  /** Ends the request; `refusal` describes the last stage, which refused it. */
  end(operation: string, result: SpanEnd, refusal: Attributes | undefined): void
}

const propagator = new W3CTraceContextPropagator()

/**
 * `parent` holds the remote span. All times derive from `epoch`, the time of performance.now() = 0, so changes of the
 * system clock do not affect a trace.
 */
export function startRequestSpans(
  tracer: Tracer,
  parent: Context,
  epoch: number,
  startedAt: number,
): RequestSpans {
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
    traceId: requestSpan.spanContext().traceId,
    isSampled,
    startStage(name, at) {
      if (!isSampled) return
      stage?.end(epoch + at)
      stage = tracer.startSpan(name, { startTime: epoch + at }, context)
    },
    startCall(method, attributes) {
      const stageContext = stage === undefined ? context : contextWith(stage)
      const span = tracer.startSpan(
        method,
        { kind: SpanKind.CLIENT, startTime: now(), attributes },
        stageContext,
      )
      const headers: string[] = []
      propagator.inject(contextWith(span), headers, setter)
      return { headers, end: (result) => finish(span, result) }
    },
    end(operation, result, refusal) {
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
