import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { limitsSchema } from '../../../src/config/listen-settings.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { allowEverythingForTwo } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { arrowBytes, arrowUpload } from '../../support/arrow-upload.ts'
import { eventually } from '../../support/eventually.ts'

const insert = '/v1/table/orders/insert'

function stalled(): Readable {
  const body = new Readable({ read: () => undefined })
  body.push(arrowBytes(20_000))
  return body
}

// Each stalled upload holds an upstream connection: one principal must not hold all of them.
it('stalled uploads leave connections to other principals', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    ...allowEverythingForTwo,
    tuning: { upstream: { maxPendingRequests: 0, maxBulkConnections: 3 } },
    settings: {
      limits: limitsSchema.parse({
        concurrency: [{ name: 'uploads', per: 'principal', operations: ['write', 'create'], maxRequests: 2 }],
      }),
    },
  })
  const headers = { 'content-type': 'application/vnd.apache.arrow.stream' }
  const abort = new AbortController()
  const upload = { as: 'mallory', headers, signal: abort.signal }
  const held = [stalled(), stalled()].map((body) => gateway.post(insert, { ...upload, body }))
  await eventually(() => expect(upstream.requests).toHaveLength(2))
  for (let count = 0; count < 3; count += 1) {
    const refused = await gateway.post(insert, { as: 'mallory', headers, body: arrowUpload })
    expectError(refused, { kind: 'Throttling', says: 'the limit "uploads" of 2 requests at a time' })
  }
  expect(await gateway.post(insert, { headers, body: arrowUpload })).toMatchObject({ status: 200 })
  expect(await gateway.post('/v1/table/orders/describe')).toMatchObject({ status: 200 })
  abort.abort()
  await Promise.allSettled(held)
  await eventually(async () => {
    const again = await gateway.post(insert, { as: 'mallory', headers, body: arrowUpload })
    expect(again).toMatchObject({ status: 200 })
  })
})
