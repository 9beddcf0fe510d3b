import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** Missing for a root span. */
  readonly parentSpanId?: string
  /** OTLP flags: the lowest bit is the sampled flag of W3C Trace Context. */
  readonly flags?: number
  readonly kind: 'internal' | 'server' | 'client'
  /** Milliseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly traceState?: string
  readonly failed: boolean
}

/** A trace collector for OTLP/HTTP with JSON encoding. */
export interface OtlpReceiver {
  readonly endpoint: string
  readonly spans: ReceivedSpan[]
  readonly resources: Readonly<Record<string, unknown>>[]
  readonly bodies: string[]
  readonly headers: Readonly<Record<string, unknown>>[]
  /** Status of responses: 200 accepts batches; undefined never responds. */
  status: number | undefined
  close(): Promise<void>
}

interface OtlpAttribute {
  readonly key: string
  readonly value: {
    readonly stringValue?: string
    readonly intValue?: number
    readonly arrayValue?: { readonly values: readonly { readonly stringValue?: string }[] }
  }
}

interface OtlpSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly flags?: number
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly OtlpAttribute[]
  readonly status: { readonly code?: number }
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => {
      const body = Buffer.concat(chunks).toString()
      receiver.headers.push(request.headers)
      receiver.bodies.push(body)
      if (receiver.status === undefined) return
      if (receiver.status === 200) take(JSON.parse(body) as OtlpRequest)
      response.writeHead(receiver.status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  function take({ resourceSpans }: OtlpRequest): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      receiver.resources.push(valuesOf(resource.attributes))
      for (const { spans } of scopeSpans) receiver.spans.push(...spans.map(received))
    }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: OtlpReceiver = {
    endpoint: `http://127.0.0.1:${port}/v1/traces`,
    spans: [],
    resources: [],
    bodies: [],
    headers: [],
    status: 200,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

const kinds = ['unspecified', 'internal', 'server', 'client'] as const

function received(span: OtlpSpan): ReceivedSpan {
  const { startTimeUnixNano, endTimeUnixNano, attributes, status, kind, ...rest } = span
  return {
    ...rest,
    kind: kinds[kind] as ReceivedSpan['kind'],
    start: Number(startTimeUnixNano) / 1e6,
    end: Number(endTimeUnixNano) / 1e6,
    attributes: valuesOf(attributes),
    failed: status.code === 2,
  }
}

function valuesOf(attributes: readonly OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, arrayValue } }) => [
      key,
      stringValue ?? intValue ?? arrayValue?.values.map((each) => each.stringValue),
    ]),
  )
}
