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

/** How a span ended. */
interface SpanEnd {
  readonly attributes: Attributes
  /** Whether something failed here; that a client was refused is no failure. */
  readonly isFailure: boolean
}

/** The span of a call to an upstream. */
interface ClientSpan {
  /** Names and values in turn: what tells the upstream which span it continues. */
  readonly headers: readonly string[]
  end(how: SpanEnd): void
}

/**
 * The spans of one request: one for all of it, one for each stage that it comes to, and one for each call to an
 * upstream, beneath the stage that makes it. Times are milliseconds of performance.now().
 */
export interface RequestSpans {
  /** 32 hex digits, also where the trace is not kept. */
  readonly traceId: string
  /** Whether it is sent, and so can be looked up by its id. */
  readonly isSampled: boolean
  /** A stage begins, and the one before is over. */
  startStage(stage: string, at: number): void
  startCall(method: string, attributes: Attributes): ClientSpan
  /** The request is over, as that operation; where it was refused, its last stage is what refused it. */
  end(operation: string, how: SpanEnd, refusal: Attributes | undefined): void
}

const propagator = new W3CTraceContextPropagator()

/**
 * Begins the spans of a request; the context says which span of somebody else they continue. All its times are told
 * from one epoch, when performance.now() was 0, whatever is done to the clock of the machine meanwhile.
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
