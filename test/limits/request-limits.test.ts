import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import type { z } from 'zod'
import { limitsSchema } from '../../src/config/listen-settings.ts'
import { countRefusals } from '../gateway/support/count-refusals.ts'
import { expectError } from '../gateway/support/expect-error.ts'
import { allowEverything, type GatewaySetup } from '../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../gateway/support/running-gateway.ts'
import { respondWith } from '../gateway/support/recording-upstream.ts'
import { arrowBytes } from '../support/arrow-upload.ts'
import { eventually } from '../support/eventually.ts'

function limited(limits: z.input<typeof limitsSchema>): GatewaySetup {
  const subjects = { users: ['dev', 'alice'] }
  return {
    users: ['alice', 'nobody'],
    policies: [{ ...allowEverything, rules: allowEverything.rules.map((rule) => ({ ...rule, subjects })) }],
    adjust: (settings) => ({ ...settings, limits: limitsSchema.parse(limits) }),
  }
}

const describe = '/v1/table/sales$orders/describe'
const insert = '/v1/table/sales$orders/insert'
const arrow = { 'content-type': 'application/vnd.apache.arrow.stream' }
/** Slow enough to never refill during a test. */
const perSecond = 0.001

it('refuses requests over a rate with the name of the limit and the time, and no others', async () => {
  const setup = limited({ rates: [{ name: 'asking', per: 'principal', perSecond, burst: 2 }] })
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  for (const status of [200, 200]) expect(await gateway.post(describe)).toMatchObject({ status })
  const refused = await gateway.post(describe)
  expectError(refused, {
    kind: 'Throttling',
    says: /the limit "asking" of 0.001 requests a second \(limits.rates of the gateway\) is exceeded; retry in \d+ s$/,
  })
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(900)
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(1000)
  expect(await gateway.post(describe, { as: 'alice' })).toMatchObject({ status: 200 })
  expect(upstream.requests).toHaveLength(3)
  expect(await countRefusals(gateway, 'rate_limited')).toBe(1)
})

it('a denied request is not charged to a shared limit', async () => {
  const setup = limited({ rates: [{ name: 'all', per: 'all', perSecond, burst: 1 }] })
  const { gateway } = await startGatewayAndUpstream(setup)
  for (let count = 0; count < 3; count += 1) {
    expect(await gateway.post(describe, { as: 'nobody' })).toMatchObject({ status: 403 })
    expect(await gateway.post(describe, { as: null })).toMatchObject({ status: 401 })
  }
  expect(await gateway.post(describe)).toMatchObject({ status: 200 })
  expectError(await gateway.post(describe), { kind: 'Throttling', says: 'the limit "all"' })
})

it('a request refused by one limit is not charged to the others', async () => {
  const setup = limited({
    rates: [
      { name: 'wide', per: 'principal', perSecond, burst: 3 },
      { name: 'narrow', per: 'principal', operations: ['write'], perSecond, burst: 1 },
    ],
  })
  const { gateway } = await startGatewayAndUpstream(setup)
  const update = '/v1/table/sales$orders/update'
  expect(await gateway.post(update, { body: {} })).toMatchObject({ status: 200 })
  for (let count = 0; count < 3; count += 1) {
    expectError(await gateway.post(update, { body: {} }), { kind: 'Throttling', says: '"narrow"' })
  }
  for (const status of [200, 200]) expect(await gateway.post(describe)).toMatchObject({ status })
  expectError(await gateway.post(describe), { kind: 'Throttling', says: '"wide"' })
})

it('forwards no part of a refused body', async () => {
  const setup = limited({ rates: [{ name: 'asking', per: 'principal', perSecond, burst: 1 }] })
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  expect(await gateway.post(describe)).toMatchObject({ status: 200 })
  const refused = await gateway.post(insert, { headers: arrow, body: arrowBytes(100_000) })
  expectError(refused, { kind: 'Throttling', says: '"asking"' })
  expect(upstream.requests).toHaveLength(1)
})

it('limits concurrent requests, and admits another for each completed one', async () => {
  const setup = limited({
    concurrency: [{ name: 'together', per: 'principal', operations: ['query'], maxRequests: 2 }],
  })
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const query = '/v1/table/sales$orders/query'
  const retained: ServerResponse[] = []
  upstream.handler = (_arrival, response) => retained.push(response)
  const abort = new AbortController()
  const running = [gateway.post(query, { body: {} }), gateway.post(query, { body: {}, signal: abort.signal })]
  await eventually(() => expect(retained).toHaveLength(2))
  const refused = await gateway.post(query, { body: {} })
  expectError(refused, { kind: 'Throttling', says: /the limit "together" of 2 requests at a time/ })
  expect(refused.headers['retry-after']).toBe('1')
  expect(await countRefusals(gateway, 'concurrency_limited')).toBe(1)
  // One receives its response, and the client of the other disconnects.
  retained[0]?.end('{}')
  abort.abort()
  const ends = await Promise.allSettled(running)
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  upstream.handler = respondWith(200, {})
  await eventually(async () => expect(await gateway.post(query, { body: {} })).toMatchObject({ status: 200 }))
})

it('charges each entry of a batch to the limit of its namespace', async () => {
  const setup = limited({ rates: [{ name: 'each', per: 'namespace', perSecond, burst: 2 }] })
  const { gateway, upstream } = await startGatewayAndUpstream(setup)
  const operations = ['a', 'b', 'c'].map((name) => ({ deregister_table: { id: ['sales', name] } }))
  const batch = '/v1/table/batch-commit'
  expect(await gateway.post(batch, { body: { operations } })).toMatchObject({ status: 200 })
  const refused = await gateway.post(batch, { body: { operations: operations.slice(0, 1) } })
  expectError(refused, { kind: 'Throttling', says: '"each"' })
  expectError(await gateway.post(describe), { kind: 'Throttling', says: '"each"' })
  expect(upstream.requests).toHaveLength(1)
})
