import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../support/expect-error.ts'
import type { GatewaySetup } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const limits = { maxJsonBytes: 10_000, maxStreamedJsonBytes: 600_000, maxArrowBytes: 800_000 }
const setup: GatewaySetup = {
  adjust: (settings) => ({ ...settings, limits: { ...settings.limits, ...limits } }),
}
const shared = useSharedGateway(setup)

const cases: [what: string, target: string, limit: number][] = [
  ['JSON that decides', '/v1/table/orders/describe', limits.maxJsonBytes],
  ['JSON that streams through', '/v1/table/orders/query', limits.maxStreamedJsonBytes],
  ['JSON of a change that streams through', '/v1/table/orders/delete', limits.maxStreamedJsonBytes],
  ['an Arrow stream', '/v1/table/orders/insert', limits.maxArrowBytes],
]

function bodyOf(bytes: number): Buffer {
  return Buffer.from(`{"a":"${'x'.repeat(bytes - 8)}"}`)
}

function inChunks(body: Buffer): Readable {
  return Readable.from([body.subarray(0, 5_000), body.subarray(5_000)], { objectMode: false })
}

it.each(cases)('%s may be as large as its limit, and no larger', async (_what, target, limit) => {
  const { gateway, upstream } = shared
  for (const send of [(body: Buffer) => body, inChunks]) {
    expect(await gateway.post(target, { body: send(bodyOf(limit)) })).toMatchObject({ status: 200 })
    expect(await upstream.requests.splice(0)[0]?.body).toHaveLength(limit)
    const response = await gateway.post(target, { body: send(bodyOf(limit + 1)) })
    expectError(response, {
      kind: 'InvalidInput',
      status: 413,
      says: `larger than the limit of ${limit} bytes`,
    })
    const [arrival] = upstream.requests.splice(0)
    // A body with a content-length is not forwarded; a chunked one may have started.
    if (arrival !== undefined) await expect(arrival.body).rejects.toThrow('aborted')
  }
})

it('rejects an upload with an excessive content-length before it is recorded', async () => {
  const { gateway } = shared
  const before = ofKind(await recordsOf(gateway.auditFolder), 'intent').length
  const body = bodyOf(limits.maxArrowBytes + 1)
  expect(await gateway.post('/v1/table/orders/insert', { body })).toMatchObject({ status: 413 })
  expect(ofKind(await recordsOf(gateway.auditFolder), 'intent')).toHaveLength(before)
})
