import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { respondWith, getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { serveListings } from '../../gateway/support/listing-upstream.ts'
import type { ReceivedSpan } from './otlp-receiver.ts'
import { spanNamed, tracedGateway } from './traced-gateway.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const clientSpan = 'b7ad6b7169203331'
const sampled = { traceparent: `00-${traceId}-${clientSpan}-01`, tracestate: 'vendor=abc,other=1' }
const otherTraceId = '5b8efff798038103d269b633813fc60c'
const none = { rawHeaders: [] }

it('OTEL_SDK_DISABLED turns traces off', async () => {
  vi.stubEnv('OTEL_SDK_DISABLED', 'true')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { gateway, upstream, spans } = await tracedGateway()
  await gateway.post('/v1/table/sales$orders/drop', { headers: sampled })
  expect(getHeaderValues(upstream.requests[0] ?? none, 'traceparent')).toEqual([sampled.traceparent])
  expect(await spans()).toEqual([])
})

it('a request has a span, and a client span beneath it', async () => {
  const { gateway, upstream, spans } = await tracedGateway()
  const response = await gateway.post('/v1/table/sales$orders/drop', { headers: sampled })
  const all = await spans()
  const requestSpan = spanNamed(all, 'DropTable')
  expect(requestSpan).toMatchObject({ kind: 'server', traceId, parentSpanId: clientSpan, failed: false })
  expect(requestSpan.attributes).toEqual({
    'catalog_gateway.request': response.headers['x-request-id'],
    'catalog_gateway.operation': 'DropTable',
    'catalog_gateway.decision': 'allow',
    'catalog_gateway.upstream': 'catalog',
    'enduser.id': 'dev',
    'http.request.method': 'POST',
    'http.route': '/v1/table/{id}/drop',
    'http.response.status_code': 200,
  })
  const call = spanNamed(all, 'POST')
  expect(call).toMatchObject({ kind: 'client', traceId, parentSpanId: requestSpan.spanId, failed: false })
  expect(call.attributes).toEqual({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(upstream.url).port),
    'catalog_gateway.upstream': 'catalog',
  })
  expect(all).toHaveLength(2)
  for (const { start, end } of all) {
    expect(start).toBeLessThanOrEqual(end)
    expect([start >= requestSpan.start, end <= requestSpan.end]).toEqual([true, true])
  }
  // The upstream continues the client span.
  const [arrival = none] = upstream.requests
  expect(getHeaderValues(arrival, 'traceparent')).toEqual([`00-${traceId}-${call.spanId}-01`])
  expect(getHeaderValues(arrival, 'tracestate')).toEqual([sampled.tracestate])
})

it('the resource identifies the gateway, with attributes of the environment, and the credential comes from a file', async () => {
  vi.stubEnv('OTEL_SERVICE_NAME', 'lake')
  vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'service.name=other, team=data%20lake')
  onTestFinished(() => void vi.unstubAllEnvs())
  const file = await credentialFile()
  const { gateway, receiver, spans } = await tracedGateway({ credential: { file } })
  await gateway.post('/v1/table/orders/describe')
  await spans()
  expect(receiver.headers[0]).toMatchObject({
    authorization: 'Bearer let-me-in',
    'content-type': 'application/json',
  })
  expect(receiver.resources[0]).toMatchObject({
    'service.name': 'lake',
    team: 'data lake',
    'service.version': expect.stringMatching(/^\d/),
    'service.instance.id': expect.any(String),
  })
})

it('the span of a refused request names the stage and the reason', async () => {
  const { gateway, spans } = await tracedGateway({}, { users: ['nobody'] })
  const describe = '/v1/table/orders/describe'
  const refusals = [
    ['receive', describe, { headers: { 'x-catalog-ctx-gateway': '' } }, 'invalid_context_key', 400],
    ['match', '/v1/nothing', {}, 'unknown_operation', 406],
    ['authenticate', describe, { as: null }, 'missing_credential', 401],
    ['authorize', describe, { as: 'nobody' }, 'no_rule', 403],
    ['read_body', describe, { body: { id: ['other'] } }, 'conflicting_values', 400],
  ] as const
  for (const [, target, options, , status] of refusals) {
    expect(await gateway.post(target, options)).toMatchObject({ status })
  }
  const all = await spans()
  const traces = all.filter(({ kind }) => kind === 'server')
  expect(traces).toHaveLength(refusals.length)
  for (const [index, [stage, , , reason, status]] of refusals.entries()) {
    const requestSpan = traces[index] as ReceivedSpan
    expect(requestSpan).toMatchObject({
      failed: false,
      attributes: {
        'http.response.status_code': status,
        'error.type': reason,
        'catalog_gateway.stage': stage,
      },
    })
  }
  expect(all.filter(({ kind }) => kind === 'client')).toEqual([])
})

it('the client span and the request span show an upstream failure', async () => {
  const { gateway, upstream, spans } = await tracedGateway()
  upstream.handler = respondWith(503, '')
  await gateway.post('/v1/table/orders/drop')
  const all = await spans()
  expect(spanNamed(all, 'POST')).toMatchObject({ failed: true, attributes: { 'error.type': '503' } })
  expect(spanNamed(all, 'DropTable')).toMatchObject({ failed: true })
})

it('each attempt has a span, which its request headers refer to', async () => {
  const { gateway, upstream, spans } = await tracedGateway()
  upstream.handler = (_arrival, response) => {
    upstream.handler = respondWith(200, {})
    response.socket?.destroy()
  }
  expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
  const calls = (await spans()).filter(({ kind }) => kind === 'client')
  expect(calls).toMatchObject([
    { failed: true, attributes: { 'error.type': expect.any(String) } },
    { failed: false, attributes: { 'http.request.resend_count': 1 } },
  ])
  const sent = upstream.requests.flatMap((arrival) => getHeaderValues(arrival, 'traceparent'))
  expect(sent).toEqual(calls.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`))
})

it('an aggregated listing has a span for each upstream page', async () => {
  const { gateway, upstream, spans } = await tracedGateway()
  upstream.handler = serveListings({ tables: { sales: ['a', 'b', 'c'] } })
  expect(await gateway.get('/v1/namespace/sales/table/list?limit=2')).toMatchObject({ status: 200 })
  const all = await spans()
  const calls = all.filter(({ kind }) => kind === 'client')
  expect(calls).toHaveLength(upstream.requests.length)
  const sent = upstream.requests.flatMap((arrival) => getHeaderValues(arrival, 'traceparent'))
  expect(sent).toEqual(calls.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`))
})

it('the root of a trace decides on sampling: here by the ratio, else the client', async () => {
  const { gateway, upstream, spans } = await tracedGateway({ sampleRatio: 0 })
  await gateway.post('/v1/table/begun/describe')
  await gateway.post('/v1/table/kept/exists', { headers: sampled })
  await gateway.post('/v1/table/others/exists', {
    headers: { traceparent: `00-${otherTraceId}-${clientSpan}-00` },
  })
  const [started = none, retained = none, others = none] = upstream.requests
  expect(getHeaderValues(started, 'traceparent')).toEqual([
    expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
  ])
  expect(getHeaderValues(retained, 'traceparent')[0]).toMatch(new RegExp(`^00-${traceId}-.{16}-01$`))
  expect(getHeaderValues(others, 'traceparent')[0]).toMatch(new RegExp(`^00-${otherTraceId}-.{16}-00$`))
  expect(new Set((await spans()).map((span) => span.traceId))).toEqual(new Set([traceId]))
})

async function credentialFile(): Promise<string> {
  const file = join(await temporaryFolder(), 'token')
  await writeFile(file, 'Bearer let-me-in\n')
  return file
}
