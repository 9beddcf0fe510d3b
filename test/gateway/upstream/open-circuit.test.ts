import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { withUpstream, type TestedGateway } from '../support/open-gateway.ts'
import { respondWith, type RequestHandler } from '../support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { createDeferred } from '../support/waiting.ts'
import { eventually } from '../../support/eventually.ts'

const read = '/v1/table/orders/describe'
const change = '/v1/table/orders/drop'
const failures = 3
const probed = withUpstream(() => ({}), {
  consecutiveFailures: failures,
  probeIntervalMs: 50,
})
const cutOff: RequestHandler = (_arrival, response) => response.socket?.destroy()

async function stateOfBreaker(gateway: TestedGateway): Promise<string | undefined> {
  const metrics = await gateway.metrics()
  return /^catalog_gateway_upstream_circuit_breaker_state\{upstream="catalog",state="(.*)"\} 1$/m.exec(
    metrics,
  )?.[1]
}

it.each<[what: string, handler: RequestHandler]>([
  ['cuts connections', cutOff],
  ['answers 502', respondWith(502, '<h1>Bad Gateway</h1>')],
  ['answers 503', respondWith(503, '')],
  ['answers 504', respondWith(504, '')],
])(
  'opens the circuit of an upstream that %s if a probe fails, too, and neither sends nor records anything',
  async (_what, handler) => {
    const { gateway, upstream } = await startGatewayAndUpstream(probed)
    upstream.handler = handler
    upstream.healthStatus = 503
    for (let count = 0; count < failures; count += 1) await gateway.post(read)
    await eventually(async () => expect(await stateOfBreaker(gateway)).toBe('open'))
    const sent = upstream.requests.length
    for (const target of [read, change]) {
      const response = await gateway.post(target)
      expectError(response, {
        kind: 'ServiceUnavailable',
        says: /^the upstream failed repeatedly and is not asked \(circuit open\); retry in \d+ s/,
      })
      expect(response.headers['retry-after']).toBe('1')
    }
    expect(upstream.requests).toHaveLength(sent)
    expect(await gateway.recorded('intent')).toEqual([])
  },
)

it.each<[what: string, handler: RequestHandler]>([
  ['404', respondWith(404, { error: 'no table', code: 4 })],
  ['429', respondWith(429, '')],
  ['500', respondWith(500, '')],
  ['501', respondWith(501, '')],
  ["503 with an error of the catalog's own", respondWith(503, { error: 'the merge timed out', code: 17 })],
])('responses %s do not trigger a probe', async (_what, handler) => {
  const { gateway, upstream } = await startGatewayAndUpstream(probed)
  upstream.handler = handler
  upstream.healthStatus = 503
  for (let count = 0; count < 3 * failures; count += 1) await gateway.post(read)
  expect(upstream.requests).toHaveLength(3 * failures)
  expect(await stateOfBreaker(gateway)).toBe('closed')
})

it('completes and records a change sent before the circuit opened', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream(probed)
  const isOpen = createDeferred()
  upstream.handler = async (arrival, response, request) => {
    if (arrival.target !== change) return cutOff(arrival, response, request)
    await isOpen.promise
    return respondWith(200, { version: 7 })(arrival, response, request)
  }
  upstream.healthStatus = 503
  const changed = gateway.post(change)
  await eventually(() => expect(upstream.requests).toHaveLength(1))
  for (let count = 0; count < failures; count += 1) await gateway.post(read)
  await eventually(async () => expect(await gateway.post(read)).toMatchObject({ status: 503 }))
  isOpen.resolve(undefined)
  expect(await changed).toMatchObject({ status: 200, json: { version: 7 } })
  const outcomes = await gateway.recorded('outcome')
  expect(outcomes).toMatchObject([{ result: 'committed', version: 7 }])
  expect(await stateOfBreaker(gateway)).toBe('open')
})
