import { PassThrough } from 'node:stream'
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
const openMs = 150
const quick = withUpstream(() => ({
  breaker: { failures, openMs },
  retries: { attempts: 0, budgetPercent: 0 },
}))
const slowToTryAgain = withUpstream(() => ({
  breaker: { failures, openMs: 60_000 },
  retries: { attempts: 0, budgetPercent: 0 },
}))
const cutOff: Answering = (_arrival, response) => response.socket?.destroy()

async function stateOfBreaker(gateway: TestedGateway): Promise<string | undefined> {
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  return /^catalog_gateway_upstream_breaker\{upstream="catalog",state="(.*)"\} 1$/m.exec(metrics)?.[1]
}

it.each<[what: string, answering: Answering]>([
  ['cuts connections', cutOff],
  ['answers 502', answers(502, '<h1>Bad Gateway</h1>')],
  ['answers 503', answers(503, '')],
  ['answers 504', answers(504, '')],
])(
  'an upstream that %s is let alone after some failures, and nothing is sent or recorded',
  async (_what, answering) => {
    const { gateway, upstream } = await gatewayAndUpstream(slowToTryAgain)
    upstream.answering = answering
    for (let count = 0; count < failures; count += 1) await gateway.post(read)
    for (const target of [read, change]) {
      const answer = await gateway.post(target)
      expectError(answer, { kind: 'ServiceUnavailable', says: /^the catalog does not answer/ })
      expect(answer.headers['retry-after']).toBe('60')
    }
    expect(upstream.arrivals).toHaveLength(failures)
    expect(ofKind(await recordsOf(gateway.auditFolder), 'intent')).toEqual([])
    expect(await stateOfBreaker(gateway)).toBe('open')
  },
)

it.each<[what: string, answering: Answering]>([
  ['answers 404', answers(404, { error: 'no table', code: 4 })],
  ['answers 429', answers(429, '')],
  ['answers 500', answers(500, '')],
  ['answers 501', answers(501, '')],
])('an upstream that %s is well', async (_what, answering) => {
  const { gateway, upstream } = await gatewayAndUpstream(slowToTryAgain)
  upstream.answering = answering
  for (let count = 0; count < 3 * failures; count += 1) await gateway.post(read)
  expect(upstream.arrivals).toHaveLength(3 * failures)
})

it('one attempt at a time finds out whether the upstream is well again', async () => {
  const { gateway, upstream } = await gatewayAndUpstream(quick)
  const good = upstream.answering
  upstream.answering = cutOff
  for (let count = 0; count < failures; count += 1) await gateway.post(read)
  await eventually(async () => expect(await gateway.post(read)).toMatchObject({ status: 502 }))
  expect(await gateway.post(read)).toMatchObject({ status: 503 })
  upstream.answering = good
  await eventually(async () => expect(await gateway.post(read)).toMatchObject({ status: 200 }))
  for (let count = 0; count < failures; count += 1) {
    expect(await gateway.post(change)).toMatchObject({ status: 200 })
  }
})

it('a change that was sent before the breaker opened is read to its end and recorded', async () => {
  const { gateway, upstream } = await gatewayAndUpstream(slowToTryAgain)
  const isOpen = deferred()
  upstream.answering = async (arrival, response, request) => {
    if (arrival.target !== change) return cutOff(arrival, response, request)
    await isOpen.promise
    return answers(200, { version: 7 })(arrival, response, request)
  }
  const changed = gateway.post(change)
  await eventually(() => expect(upstream.arrivals).toHaveLength(1))
  for (let count = 0; count < failures; count += 1) await gateway.post(read)
  expect(await gateway.post(read)).toMatchObject({ status: 503 })
  isOpen.resolve(undefined)
  expect(await changed).toMatchObject({ status: 200, json: { version: 7 } })
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result: 'committed', version: 7 }])
  // Nor does it close the breaker, since it says nothing of how the upstream is now.
  expect(await stateOfBreaker(gateway)).toBe('open')
})

it('clients that leave, in mid-upload or before the answer, do not shut out the others', async () => {
  const { gateway, upstream } = await gatewayAndUpstream(slowToTryAgain)
  upstream.answering = () => undefined
  for (let count = 0; count < 2 * failures; count += 1) {
    const leave = new AbortController()
    const body = new PassThrough()
    body.on('error', () => undefined)
    body.write(Buffer.alloc(64 * 1024))
    const left = [
      gateway.post('/v1/table/orders/insert', { body, signal: leave.signal }),
      gateway.post(read, { signal: leave.signal }),
    ]
    await eventually(() => expect(upstream.arrivals).toHaveLength(2 * count + 2))
    leave.abort()
    for (const answer of left) await expect(answer).rejects.toThrow()
  }
  upstream.answering = answers(200, {})
  expect(await gateway.post(read)).toMatchObject({ status: 200 })
})

it('large uploads that the upstream cuts off do not shut out the others', async () => {
  const { gateway, upstream } = await gatewayAndUpstream(slowToTryAgain)
  upstream.answering = (_arrival, response, request) => {
    request.pause()
    response.socket?.resetAndDestroy()
  }
  for (let count = 0; count < 2 * failures; count += 1) {
    const body = new PassThrough()
    body.on('error', () => undefined)
    body.write(Buffer.alloc(64 * 1024))
    expect(await gateway.post('/v1/table/orders/insert', { body })).toMatchObject({ status: 502 })
  }
  upstream.answering = answers(200, {})
  expect(await gateway.post(read)).toMatchObject({ status: 200 })
})

it('requests that take too long do not shut out the others', async () => {
  const { gateway, upstream } = await gatewayAndUpstream(
    withUpstream(({ timeouts }) => ({
      breaker: { failures, openMs: 60_000 },
      timeouts: { ...timeouts, answerMs: 50 },
    })),
  )
  upstream.answering = () => undefined
  const slow = Array.from({ length: 2 * failures }, () =>
    gateway.post('/v1/table/orders/query', { body: {} }),
  )
  for (const answer of await Promise.all(slow)) expect(answer).toMatchObject({ status: 504 })
  upstream.answering = answers(200, {})
  expect(await gateway.post(read)).toMatchObject({ status: 200 })
})
