import { expect, it } from 'vitest'
import type { ServerResponse } from 'node:http'
import { ofKind, recordsOf } from '../audit/entries.ts'
import { expectError } from './expect-error.ts'
import { withUpstream, type GatewaySetup, type TestedGateway } from './open-gateway.ts'
import { gatewayAndUpstream } from './running-gateway.ts'
import { eventually } from './waiting.ts'

const query = '/v1/table/orders/query'

function narrow(maximumWaiting: number, waitMs = 60_000): GatewaySetup {
  return withUpstream(({ timeouts }) => ({
    maximumConnections: 1,
    maximumWaiting,
    timeouts: { ...timeouts, waitMs },
  }))
}

/** An upstream that keeps requests until it is told to answer the next. */
async function patientPair(setup: GatewaySetup) {
  const { gateway, upstream } = await gatewayAndUpstream(setup)
  const kept: ServerResponse[] = []
  upstream.answering = (_arrival, response) => kept.push(response)
  const answerNext = async (): Promise<void> => {
    await eventually(() => expect(kept).not.toHaveLength(0))
    kept.shift()?.end('{}')
  }
  return { gateway, upstream, answerNext }
}

/** Waits until so many requests wait. */
function untilWaiting(gateway: TestedGateway, count: number): Promise<void> {
  return eventually(async () => {
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(metrics).toContain(`\ncatalog_gateway_upstream_waiting{upstream="catalog"} ${count}\n`)
    expect(metrics).toContain(`\ncatalog_gateway_upstream_exchanges{upstream="catalog"} 1\n`)
  })
}

it('requests beyond the connections wait, and are sent in the order in which they came', async () => {
  const { gateway, upstream, answerNext } = await patientPair(narrow(4))
  const pending = []
  for (let count = 0; count < 4; count += 1) {
    pending.push(gateway.post(`/v1/table/orders-${count}/describe`))
    await untilWaiting(gateway, count)
  }
  expect(upstream.arrivals).toHaveLength(1)
  for (const answer of pending) {
    await answerNext()
    expect(await answer).toMatchObject({ status: 200 })
  }
  expect(upstream.arrivals.map(({ target }) => target)).toEqual(
    [0, 1, 2, 3].map((count) => `/v1/table/orders-${count}/describe`),
  )
})

it('what carries rows waits behind everything that does not', async () => {
  const { gateway, upstream, answerNext } = await patientPair(narrow(4))
  const targets = [query, query, '/v1/table/orders/describe', '/v1/table/orders/exists']
  const pending = []
  for (const [waiting, target] of targets.entries()) {
    pending.push(gateway.post(target, { body: {} }))
    await untilWaiting(gateway, waiting)
  }
  for (const _ of targets) await answerNext()
  for (const answer of pending) expect(await answer).toMatchObject({ status: 200 })
  expect(upstream.arrivals.map(({ target }) => target)).toEqual([query, ...targets.slice(2), query])
})

it('when as many wait as may, the next is told at once to come again, and leaves nothing', async () => {
  const { gateway, upstream, answerNext } = await patientPair(narrow(1))
  const served = [gateway.post(query, { body: {} })]
  await untilWaiting(gateway, 0)
  served.push(gateway.post(query, { body: {} }))
  await untilWaiting(gateway, 1)
  for (const target of [query, '/v1/table/orders/drop']) {
    const refused = await gateway.post(target, { body: {} })
    expectError(refused, { kind: 'ServiceUnavailable', says: 'the catalog is busy' })
    expect(refused.headers['retry-after']).toBe('1')
  }
  await answerNext()
  await answerNext()
  for (const answer of served) expect(await answer).toMatchObject({ status: 200 })
  expect(upstream.arrivals).toHaveLength(2)
  const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
  expect(outcomes).toMatchObject([{ result: 'failed' }])
})

it('a request waits no longer than it may', async () => {
  const { gateway, upstream, answerNext } = await patientPair(narrow(4, 100))
  const first = gateway.post(query, { body: {} })
  await untilWaiting(gateway, 0)
  expectError(await gateway.post(query, { body: {} }), { kind: 'ServiceUnavailable', says: 'busy' })
  await answerNext()
  expect(await first).toMatchObject({ status: 200 })
  expect(upstream.arrivals).toHaveLength(1)
})

it('a client that leaves while its request waits is forgotten; its change was never made', async () => {
  const { gateway, upstream, answerNext } = await patientPair(narrow(4))
  const first = gateway.post(query, { body: {} })
  await untilWaiting(gateway, 0)
  const leave = new AbortController()
  const left = [query, '/v1/table/orders/update'].map((target) =>
    gateway.post(target, { body: {}, signal: leave.signal }),
  )
  await untilWaiting(gateway, 2)
  leave.abort()
  for (const answer of left) await expect(answer).rejects.toThrow()
  await untilWaiting(gateway, 0)
  await answerNext()
  expect(await first).toMatchObject({ status: 200 })
  expect(upstream.arrivals.map(({ target }) => target)).toEqual([query])
  await eventually(async () => {
    const outcomes = ofKind(await recordsOf(gateway.auditFolder), 'outcome')
    expect(outcomes).toMatchObject([{ result: 'failed', details: { reason: 'ClientGone' } }])
  })
})
