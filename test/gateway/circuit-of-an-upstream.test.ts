import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../audit/entries.ts'
import { expectError } from './expect-error.ts'
import { withUpstream, type TestedGateway } from './open-gateway.ts'
import { answers, type Answering } from './recording-upstream.ts'
import { gatewayAndUpstream } from './running-gateway.ts'
import { deferred, eventually } from './waiting.ts'

const read = '/v1/table/orders/describe'
const change = '/v1/table/orders/drop'
const failures = 3
const probed = withUpstream(({ healthCheck }) => ({
  circuitBreaker: { consecutiveFailures: failures, probeIntervalMs: 50 },
  healthCheck: { ...healthCheck, intervalMs: 60_000 },
  retries: { maxRetries: 0, budgetPercent: 0 },
}))
const cutOff: Answering = (_arrival, response) => response.socket?.destroy()

async function stateOfBreaker(gateway: TestedGateway): Promise<string | undefined> {
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  return /^catalog_gateway_upstream_circuit_breaker_state\{upstream="catalog",state="(.*)"\} 1$/m.exec(
    metrics,
  )?.[1]
}

it.each<[what: string, answering: Answering]>([
  ['cuts connections', cutOff],
  ['answers 502', answers(502, '<h1>Bad Gateway</h1>')],
  ['answers 503', answers(503, '')],
  ['answers 504', answers(504, '')],
])(
  'the circuit of an upstream that %s opens if a probe fails, too: nothing is sent or recorded any more',
  async (_what, answering) => {
    const { gateway, upstream } = await gatewayAndUpstream(probed)
    upstream.answering = answering
    upstream.healthStatus = 503
    for (let count = 0; count < failures; count += 1) await gateway.post(read)
    await eventually(async () => expect(await stateOfBreaker(gateway)).toBe('open'))
    const sent = upstream.arrivals.length
    for (const target of [read, change]) {
      const answer = await gateway.post(target)
      expectError(answer, {
        kind: 'ServiceUnavailable',
        says: /^the catalog is unavailable \(circuit open\)/,
      })
      expect(answer.headers['retry-after']).toBe('1')
    }
    expect(upstream.arrivals).toHaveLength(sent)
    expect(ofKind(await recordsOf(gateway.auditFolder), 'intent')).toEqual([])
  },
)

it.each<[what: string, answering: Answering]>([
  ['404', answers(404, { error: 'no table', code: 4 })],
  ['429', answers(429, '')],
  ['500', answers(500, '')],
  ['501', answers(501, '')],
  ["503 with an error of the catalog's own", answers(503, { error: 'the merge timed out', code: 17 })],
])('responses %s lead to no probe', async (_what, answering) => {
  const { gateway, upstream } = await gatewayAndUpstream(probed)
  upstream.answering = answering
  upstream.healthStatus = 503
  for (let count = 0; count < 3 * failures; count += 1) await gateway.post(read)
  expect(upstream.arrivals).toHaveLength(3 * failures)
  expect(await stateOfBreaker(gateway)).toBe('closed')
})

it('the circuit closes with the first good probe after an outage', async () => {
  const { gateway, upstream } = await gatewayAndUpstream(probed)
  const good = upstream.answering
  upstream.answering = cutOff
  upstream.healthStatus = undefined
  for (let count = 0; count < failures; count += 1) await gateway.post(read)
  await eventually(async () => expect(await stateOfBreaker(gateway)).toBe('open'))
  upstream.answering = good
  upstream.healthStatus = 200
  await eventually(async () => expect(await stateOfBreaker(gateway)).toBe('closed'))
  expect(await gateway.post(read)).toMatchObject({ status: 200 })
  expect(await gateway.post(change)).toMatchObject({ status: 200 })
})

it('a change that was sent before the circuit opened is read to its end and recorded', async () => {
  const { gateway, upstream } = await gatewayAndUpstream(probed)
  const isOpen = deferred()
  upstream.answering = async (arrival, response, request) => {
    if (arrival.target !== change) return cutOff(arrival, response, request)
    await isOpen.promise
    return answers(200, { version: 7 })(arrival, response, request)
  }
  upstream.healthStatus = 503
  const changed = gateway.post(change)
  await eventually(() => expect(upstream.arrivals).toHaveLength(1))
  for (let count = 0; count < failures; count += 1) await gateway.post(read)
  await eventually(async () => expect(await gateway.post(read)).toMatchObject({ status: 503 }))
  isOpen.resolve(undefined)
  expect(await changed).toMatchObject({ status: 200, json: { version: 7 } })
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result: 'committed', version: 7 }])
  expect(await stateOfBreaker(gateway)).toBe('open')
})
