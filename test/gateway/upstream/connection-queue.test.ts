import { expect, it } from 'vitest'
import type { ServerResponse } from 'node:http'
import { expectError } from '../support/expect-error.ts'
import {
  allowEverythingForTwo,
  withUpstream,
  type GatewaySetup,
  type TestedGateway,
} from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

const query = '/v1/table/orders/query'
const describe = '/v1/table/orders/describe'
const sendings: readonly [target: string, body: object | string][] = [
  [query, {}],
  ['/v1/table/orders/insert', arrowUpload],
]

function narrow(maxPendingRequests: number, waitMs = 60_000): GatewaySetup {
  return withUpstream(() => ({ maxConnections: 1 }), {
    maxBulkConnections: 1,
    maxPendingRequests,
    queueTimeoutMs: waitMs,
  })
}

/** An upstream that holds requests until the test lets it respond to the next one. */
async function startHoldingPair(setup: GatewaySetup) {
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const retained: ServerResponse[] = []
  upstream.handler = (_arrival, response) => retained.push(response)
  const respondToNext = async (): Promise<void> => {
    await eventually(() => expect(retained).not.toHaveLength(0))
    retained.shift()?.end('{}')
  }
  return { gateway, upstream, respondToNext }
}

/** Waits until that many requests of a pool are pending. */
function untilPending(gateway: TestedGateway, count: number, pool: 'small' | 'bulk' = 'bulk'): Promise<void> {
  return eventually(async () => {
    const metrics = await gateway.metrics()
    const labels = `{upstream="catalog",pool="${pool}"}`
    expect(metrics).toContain(`\ncatalog_gateway_upstream_pending_requests${labels} ${count}\n`)
    expect(metrics).not.toContain(`\ncatalog_gateway_upstream_active_requests${labels} 0\n`)
  })
}

it('queues requests beyond the connections in order of arrival', async () => {
  const { gateway, upstream, respondToNext } = await startHoldingPair(narrow(8))
  const pending = []
  for (let count = 0; count < 4; count += 1) {
    pending.push(gateway.post(`/v1/table/orders-${count}/describe`))
    await untilPending(gateway, count, 'small')
  }
  expect(upstream.requests).toHaveLength(1)
  for (const response of pending) {
    await respondToNext()
    expect(await response).toMatchObject({ status: 200 })
  }
  expect(upstream.requests.map(({ target }) => target)).toEqual(
    [0, 1, 2, 3].map((count) => `/v1/table/orders-${count}/describe`),
  )
})

it('small requests and bulk requests do not wait for each other', async () => {
  const { gateway, upstream, respondToNext } = await startHoldingPair(narrow(8))
  const pending = [query, query, describe, describe].map((target) => gateway.post(target, { body: {} }))
  await untilPending(gateway, 1, 'bulk')
  await untilPending(gateway, 1, 'small')
  expect(new Set(upstream.requests.map(({ target }) => target))).toEqual(new Set([query, describe]))
  for (const _ of pending) await respondToNext()
  for (const response of pending) expect(await response).toMatchObject({ status: 200 })
})

it('gives a released slot to the principal with the fewest, whatever the order of arrival', async () => {
  const { gateway, upstream, respondToNext } = await startHoldingPair({
    ...withUpstream(() => ({}), { maxBulkConnections: 2, maxPendingRequests: 16 }),
    ...allowEverythingForTwo,
  })
  const responses = []
  for (const [index, as] of ['mallory', 'mallory', 'mallory', 'dev', 'dev'].entries()) {
    responses.push(gateway.post(`/v1/table/${as}-${index}/query`, { as, body: {} }))
    // A principal alone may hold one of two.
    await untilPending(gateway, [0, 1, 2, 2, 3][index] ?? 0, 'bulk')
  }
  for (const _ of responses) await respondToNext()
  for (const response of responses) expect(await response).toMatchObject({ status: 200 })
  expect(upstream.requests.map(({ target }) => target.split('/')[3])).toEqual([
    'mallory-0',
    'dev-3',
    'mallory-1',
    'dev-4',
    'mallory-2',
  ])
})

it('rejects a request with retry-after if the queue is full, without a trace', async () => {
  const { gateway, upstream, respondToNext } = await startHoldingPair(narrow(1))
  const served = [gateway.post(query, { body: {} })]
  await untilPending(gateway, 0)
  served.push(gateway.post(query, { body: {} }))
  await untilPending(gateway, 1)
  for (const [target, body] of sendings) {
    const refused = await gateway.post(target, { body })
    expectError(refused, {
      kind: 'ServiceUnavailable',
      says: 'no connection to the upstream is free, and too many requests wait for one; retry in 1 s',
    })
    expect(refused.headers['retry-after']).toBe('1')
  }
  await respondToNext()
  await respondToNext()
  for (const response of served) expect(await response).toMatchObject({ status: 200 })
  expect(upstream.requests).toHaveLength(2)
  const outcomes = await gateway.recorded('outcome')
  expect(outcomes).toMatchObject([{ result: 'failed' }])
})

it('rejects a request after the queue timeout', async () => {
  const { gateway, upstream, respondToNext } = await startHoldingPair(narrow(8, 100))
  const first = gateway.post(query, { body: {} })
  await untilPending(gateway, 0)
  expectError(await gateway.post(query, { body: {} }), {
    kind: 'ServiceUnavailable',
    says: 'no connection to the upstream is free, and none became free within 0.1 s',
  })
  await respondToNext()
  expect(await first).toMatchObject({ status: 200 })
  expect(upstream.requests).toHaveLength(1)
})

it('removes a pending request if its client disconnects; the change was not made', async () => {
  const { gateway, upstream, respondToNext } = await startHoldingPair(narrow(8))
  const first = gateway.post(query, { body: {} })
  await untilPending(gateway, 0)
  const leave = new AbortController()
  const left = sendings.map(([target, body]) => gateway.post(target, { body, signal: leave.signal }))
  await untilPending(gateway, 2)
  leave.abort()
  for (const response of left) await expect(response).rejects.toThrow()
  await untilPending(gateway, 0)
  await respondToNext()
  expect(await first).toMatchObject({ status: 200 })
  expect(upstream.requests.map(({ target }) => target)).toEqual([query])
  await eventually(async () => {
    const outcomes = await gateway.recorded('outcome')
    expect(outcomes).toMatchObject([{ result: 'failed', details: { reason: 'ClientDisconnected' } }])
  })
})
