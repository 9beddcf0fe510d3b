import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { respondWith, type RequestHandler } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { arrowUpload, arrowBytes } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

// A caller that repeatedly makes requests fail must not open the circuit for others: the upstream still responds to the
// probes of the gateway.
const read = '/v1/table/orders/describe'
const failures = 3
const tuning = { consecutiveFailures: failures, probeIntervalMs: 50 }
const setup = withUpstream(() => ({}), { ...tuning, retryBudgetPercent: 0 })

it.each<[label: string, answering: RequestHandler]>([
  ['closes connections', (_arrival, response) => response.socket?.destroy()],
  ['responds with 503', respondWith(503, '')],
  [
    "responds with 503 and the catalog's own error",
    respondWith(503, { error: 'the merge timed out', code: 17 }),
  ],
  ['responds with 504', respondWith(504, '<h1>Gateway Timeout</h1>')],
])('an upstream that %s to one request does not open the circuit', async (_label, answering) => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const defaultHandler = upstream.answering
  const bad = '/v1/table/orders/merge_insert?on=id&timeout=1ms'
  upstream.answering = (arrival, response, request) =>
    (arrival.target === bad ? answering : defaultHandler)(arrival, response, request)
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(Array.from({ length: 2 * failures }, () => gateway.post(bad, { body: arrowUpload })))
    expect(await gateway.post(read)).toMatchObject({ status: 200 })
  }
  expect(upstream.requests).toHaveLength(4 * (2 * failures + 1))
})

it('clients that disconnect during an upload or before the response do not open the circuit', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  upstream.answering = () => undefined
  for (let count = 0; count < 2 * failures; count += 1) {
    const abort = new AbortController()
    const body = new PassThrough()
    body.on('error', () => undefined)
    body.write(arrowBytes(64 * 1024))
    const responses = [
      gateway.post('/v1/table/orders/insert', { body, signal: abort.signal }),
      gateway.post(read, { signal: abort.signal }),
    ]
    await eventually(() => expect(upstream.requests).toHaveLength(2 * count + 2))
    abort.abort()
    for (const response of responses) await expect(response).rejects.toThrow()
  }
  upstream.answering = respondWith(200, {})
  expect(await gateway.post(read)).toMatchObject({ status: 200 })
})

it('large uploads that the upstream aborts do not open the circuit', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  upstream.answering = (_arrival, response, request) => {
    request.pause()
    response.socket?.resetAndDestroy()
  }
  for (let count = 0; count < 2 * failures; count += 1) {
    const body = new PassThrough()
    body.on('error', () => undefined)
    body.write(arrowBytes(64 * 1024))
    expect(await gateway.post('/v1/table/orders/insert', { body })).toMatchObject({ status: 424 })
  }
  upstream.answering = respondWith(200, {})
  expect(await gateway.post(read)).toMatchObject({ status: 200 })
})

it('requests that time out do not open the circuit', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(
    withUpstream(() => ({}), { ...tuning, responseHeadersTimeoutMs: 1_000 }),
  )
  upstream.answering = () => undefined
  const slow = Array.from({ length: 2 * failures }, () =>
    gateway.post('/v1/table/orders/query', { body: {} }),
  )
  for (const response of await Promise.all(slow)) expect(response).toMatchObject({ status: 504 })
  upstream.answering = respondWith(200, {})
  expect(await gateway.post(read)).toMatchObject({ status: 200 })
})
