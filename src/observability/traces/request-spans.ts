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

/** Span of a call to an upstream. */
interface ClientSpan {
  /** Alternating names and values of the trace context headers for the upstream. */
  readonly headers: readonly string[]
  end(how: SpanEnd): void
}

/**
 * Spans of one request: a root span, a span per stage, and a client span per upstream call beneath its stage. Times are
 * milliseconds of performance.now().
 */
export interface RequestSpans {
  /** 32 hex digits, even if the trace is not sampled. */
  readonly traceId: string
  /** Whether the trace is exported and can be looked up by its id. */
  readonly isSampled: boolean
  /** Ends the current stage and starts the next. */
  startStage(stage: string, at: number): void
  startCall(method: string, attributes: Attributes): ClientSpan
  /** Ends the request; `refusal` describes the last stage, which refused it. */
  end(operation: string, how: SpanEnd, refusal: Attributes | undefined): void
}

const propagator = new W3CTraceContextPropagator()

/**
 * Starts the spans of a request; `context` holds the remote parent. All times derive from one epoch, the time of
 * performance.now() = 0, so changes of the system clock do not affect a trace.
 */
export function startRequestSpans(
  tracer: Tracer,
  continued: Context,
  epoch: number,
  startedAt: number,
): RequestSpans {
  const whole = tracer.startSpan(
    'request',
    { kind: SpanKind.SERVER, startTime: epoch + startedAt },
    continued,
  )
  const isSampled = whole.isRecording()
  const context = contextWith(whole)
  let stage: Span | undefined
  const now = (): number => epoch + performance.now()
  const finish = (span: Span, { attributes, isFailure }: SpanEnd): void => {
    span.setAttributes(attributes)
    if (isFailure) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(now())
  }
  return {
    traceId: whole.spanContext().traceId,
    isSampled,
    startStage(name, at) {
      if (!isSampled) return
      stage?.end(epoch + at)
      stage = tracer.startSpan(name, { startTime: epoch + at }, context)
    },
    startCall(method, attributes) {
      const above = stage === undefined ? context : contextWith(stage)
      const span = tracer.startSpan(method, { kind: SpanKind.CLIENT, startTime: now(), attributes }, above)
      const headers: string[] = []
      propagator.inject(contextWith(span), headers, setter)
      return { headers, end: (how) => finish(span, how) }
    },
    end(operation, how, refusal) {
      if (stage !== undefined) {
        finish(stage, { attributes: refusal ?? {}, isFailure: refusal !== undefined && how.isFailure })
      }
      whole.updateName(operation)
      finish(whole, how)
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
