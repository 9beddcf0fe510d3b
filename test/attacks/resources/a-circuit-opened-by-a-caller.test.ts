import { expect, it } from 'vitest'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { respondWith, type RequestHandler } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

// A caller that repeatedly makes requests fail must not open the circuit for others: the upstream still responds to the
// probes of the gateway. No number of failures alone opens it: gateway/upstream/circuit-breaker.test.ts.
const read = '/v1/table/orders/describe'
const failures = 3
const setup = withUpstream(() => ({}), { consecutiveFailures: failures, probeIntervalMs: 50 })

it.each<[label: string, handler: RequestHandler]>([
  ['closes connections', (_arrival, response) => response.socket?.destroy()],
  ['responds with 504', respondWith(504, '<h1>Gateway Timeout</h1>')],
])('an upstream that %s to one request does not open the circuit', async (_label, handler) => {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const defaultHandler = upstream.handler
  const bad = '/v1/table/orders/merge_insert?on=id&timeout=1ms'
  upstream.handler = (arrival, response, request) =>
    (arrival.target === bad ? handler : defaultHandler)(arrival, response, request)
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(Array.from({ length: 2 * failures }, () => gateway.post(bad, { body: arrowUpload })))
    expect(await gateway.post(read)).toMatchObject({ status: 200 })
  }
  expect(upstream.requests).toHaveLength(4 * (2 * failures + 1))
})
