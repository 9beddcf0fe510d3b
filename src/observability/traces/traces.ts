import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { unescape } from 'node:querystring'
import type { TracesSettings } from '../../config/index.ts'
import { listHeader } from '../../lib/index.ts'
import { openOtlpClient, type Outbound, toOtlpAttributes, toSignalUrl } from '../../outbound/index.ts'
import { createSpanQueue, defaultBounds, type SpanBounds, type SpanReport } from './span-queue.ts'

export type Traces = Awaited<ReturnType<typeof openTraces>>

/** Opens the export of spans. Throws if a file cannot be read. */
export async function openTraces(
  settings: TracesSettings,
  version: string,
  report: SpanReport,
  outbound: Outbound,
  bounds: Partial<SpanBounds> = {},
) {
  const { timeoutMs, maxQueuedSpans } = { ...defaultBounds, ...bounds }
  const endpoint = resolveTracesEndpoint(settings, process.env)
  const client = await openOtlpClient('traces', { ...endpoint, settings, timeoutMs }, outbound)
  const resource = { attributes: toOtlpAttributes(describeResource(version, process.env)) }
  const scope = { name: 'catalog-gateway', version }
  /** Creates an ExportTraceServiceRequest (opentelemetry.proto.collector.trace.v1). */
  const createMessage = (spans: readonly object[]) => ({
    resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }],
  })
  const queue = createSpanQueue(client, createMessage, report, { timeoutMs, maxQueuedSpans })
  return {
    /** Takes the headers of a request: names and values in turn. `startedAt` is a time of performance.now(). */
    startRequest: (headers: readonly string[], startedAt: number): RequestSpans =>
      startRequestSpans(readParent(headers), settings.sampleRatio, startedAt, (span) => queue.add(span)),
    /** Exports pending spans, within the timeout. Never rejects. */
    close: () => queue.close(),
  }
}

/**
 * Returns where spans are posted, and with which headers, as the specification of OTLP exporters has it: the settings come
 * before the variables for traces, and these before those for all signals.
 */
export function resolveTracesEndpoint({ endpoint }: TracesSettings, environment: NodeJS.ProcessEnv) {
  const base = (environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || 'http://localhost:4318').replace(/\/$/, '')
  const url = endpoint
    ? toSignalUrl(endpoint, '/v1/traces')
    : environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || `${base}/v1/traces`
  const { OTEL_EXPORTER_OTLP_HEADERS: common, OTEL_EXPORTER_OTLP_TRACES_HEADERS: own } = environment
  const headers = [...parsePairs(common), ...parsePairs(own)]
  return { url, headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])) }
}

/** Parses `name=value` pairs that commas separate, with percent-encoded values. */
function parsePairs(text = ''): readonly (readonly [name: string, value: string])[] {
  const pairs = text.matchAll(/([^=,\s]+)\s*=\s*([^,]*)/g)
  return Array.from(pairs, ([, name = '', value = '']) => [name, unescape(value.trim())] as const)
}

/** Attributes of the environment take precedence, OTEL_SERVICE_NAME over those of OTEL_RESOURCE_ATTRIBUTES. */
function describeResource(version: string, environment: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const { OTEL_RESOURCE_ATTRIBUTES: text, OTEL_SERVICE_NAME: name } = environment
  return {
    'service.name': 'catalog-gateway',
    'service.version': version,
    'service.instance.id': hostname(),
    ...Object.fromEntries(parsePairs(text)),
    ...(name && { 'service.name': name }),
  }
}

/** The span that a request continues, of another process. */
interface RemoteParent {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
  /** Value of `tracestate`; empty without one. */
  readonly state: string
}

const traceparent =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]([\da-f])(-[^,]*)?$/
/** It has 55 characters today; future versions may be longer (section 4.3). */
const maxTraceparentLength = 256
const stateMember =
  /^(?:[a-z][_a-z\d*/-]{0,255}|[a-z\d][_a-z\d*/-]{0,240}@[a-z][_a-z\d*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/
const maxStateMembers = 32

/** A malformed, repeated or overlong traceparent is ignored, and a new trace begins (section 3.2.2). */
function readParent(headers: readonly string[]): RemoteParent | undefined {
  const [value = '', ...repeated] = listHeader(headers, 'traceparent')
  if (repeated.length > 0 || value.length > maxTraceparentLength) return undefined
  const [, version, traceId, spanId = '', flags = '', more] = traceparent.exec(value) ?? []
  // Only the known part of a future version is read.
  if (traceId === undefined || (version === '00' && more !== undefined)) return undefined
  const members = listHeader(headers, 'tracestate')
    .flatMap((line) => line.split(','))
    .map((member) => member.trim())
    .filter((member) => stateMember.test(member))
  const state = members.slice(0, maxStateMembers).join()
  return { traceId, spanId, isSampled: Number.parseInt(flags, 16) % 2 === 1, state }
}

type Attributes = Readonly<Record<string, string | number>>

interface SpanEnd {
  readonly attributes: Attributes
  /** Whether something failed in the gateway or upstream; a refusal is no failure. */
  readonly isFailure: boolean
}

/** The values of `Span.SpanKind`, and of `Status.StatusCode`, of opentelemetry.proto.trace.v1. */
const kinds = { server: 2, client: 3 } as const
const failed = { code: 2 }
/** Of `SpanFlags`: that the flags say whether the parent is remote, and that it is. */
const [hasIsRemote, isRemote] = [0x100, 0x200]

/** A span of the request, and one of each call to an upstream. */
export type RequestSpans = ReturnType<typeof startRequestSpans>

/** The root of a trace decides whether it is exported: the client, or here the ratio. */
function startRequestSpans(
  parent: RemoteParent | undefined,
  sampleRatio: number,
  startedAt: number,
  add: (span: object) => void,
) {
  const traceId = parent?.traceId ?? createId(16)
  const requestSpanId = createId(8)
  const isSampled = parent?.isSampled ?? Math.random() < sampleRatio
  const flags = isSampled ? 1 : 0
  // All times of a trace derive from this one, so changes of the system clock do not affect it.
  const epoch = Date.now() - performance.now()
  const toNanoseconds = (at: number): string => `${Math.round((epoch + at) * 1_000)}000`

  function end(span: object, start: number, { attributes, isFailure }: SpanEnd): void {
    if (!isSampled) return
    add({
      traceId,
      ...(parent && parent.state !== '' && { traceState: parent.state }),
      ...span,
      startTimeUnixNano: toNanoseconds(start),
      endTimeUnixNano: toNanoseconds(performance.now()),
      attributes: toOtlpAttributes(attributes),
      status: isFailure ? failed : {},
    })
  }

  return {
    /** 32 hex digits, even if the trace is not sampled. */
    traceId,
    /** Whether the trace is exported and can be looked up by its id. */
    isSampled,
    /** `headers` are the trace context for the upstream: names and values in turn. */
    startCall(method: string, attributes: Attributes) {
      const spanId = createId(8)
      const start = performance.now()
      const headers = ['traceparent', `00-${traceId}-${spanId}-0${flags}`]
      if (parent !== undefined && parent.state !== '') headers.push('tracestate', parent.state)
      const span = { spanId, parentSpanId: requestSpanId, flags: flags | hasIsRemote, name: method }
      return {
        headers,
        end: ({ attributes: more, isFailure }: SpanEnd): void =>
          end({ ...span, kind: kinds.client }, start, { attributes: { ...attributes, ...more }, isFailure }),
      }
    },
    /** Ends the request. */
    end(operation: string, result: SpanEnd): void {
      const remote = parent
        ? { parentSpanId: parent.spanId, flags: flags | hasIsRemote | isRemote }
        : { flags }
      end({ spanId: requestSpanId, ...remote, name: operation, kind: kinds.server }, startedAt, result)
    },
  }
}

function createId(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}
