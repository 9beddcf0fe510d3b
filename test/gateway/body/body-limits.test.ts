import { formatBytes } from '../../../src/lib/format.ts'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../support/expect-error.ts'
import type { GatewaySetup } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'

const limits = { maxJsonBytes: 10_000, maxArrowBytes: 800_000 }
const setup: GatewaySetup = {
  adjust: (settings) => ({ ...settings, limits: { ...settings.limits, ...limits } }),
}
const shared = useSharedGateway(setup)

type CreateBody = (bytes: number, target: string) => Buffer

const cases: [what: string, target: string, limit: number, create: CreateBody][] = [
  ['JSON that decides', '/v1/table/orders/describe', limits.maxJsonBytes, jsonBytes],
  ['JSON that streams through', '/v1/table/orders/query', limits.maxArrowBytes, jsonBytes],
  ['JSON of a change that streams through', '/v1/table/orders/delete', limits.maxArrowBytes, jsonBytes],
  ['an Arrow stream', '/v1/table/orders/insert', limits.maxArrowBytes, arrowBytes],
]

/** A body that describes, queries or deletes. */
function jsonBytes(bytes: number, target: string): Buffer {
  const name = target.endsWith('describe') ? 'context' : target.endsWith('query') ? 'filter' : 'predicate'
  const [start, end] = name === 'context' ? ['{"context":{"a":"', '"}}'] : [`{"${name}":"`, '"}']
  return Buffer.from(`${start}${'x'.repeat(bytes - start.length - end.length)}${end}`)
}

function inChunks(body: Buffer): Readable {
  return Readable.from([body.subarray(0, 5_000), body.subarray(5_000)], { objectMode: false })
}

it.each(cases)('%s may be as large as its limit, and no larger', async (_what, target, limit, create) => {
  const { gateway, upstream } = shared
  for (const send of [(body: Buffer) => body, inChunks]) {
    expect(await gateway.post(target, { body: send(create(limit, target)) })).toMatchObject({ status: 200 })
    expect(await upstream.requests.splice(0)[0]?.body).toHaveLength(limit)
    const response = await gateway.post(target, { body: send(create(limit + 1, target)) })
    expectError(response, {
      kind: 'InvalidInput',
      status: 413,
      says: `larger than the limit of ${formatBytes(limit)}`,
    })
    const [arrival] = upstream.requests.splice(0)
    // A body with a content-length is not forwarded; a chunked one may have started.
    if (arrival !== undefined) await expect(arrival.body).rejects.toThrow('aborted')
  }
})

it('rejects an upload with an excessive content-length before it is recorded', async () => {
  const { gateway } = shared
  const before = ofKind(await recordsOf(gateway.auditFolder), 'intent').length
  const body = arrowBytes(limits.maxArrowBytes + 1)
  expect(await gateway.post('/v1/table/orders/insert', { body })).toMatchObject({ status: 413 })
  expect(ofKind(await recordsOf(gateway.auditFolder), 'intent')).toHaveLength(before)
})
