import { formatBytes } from '../../../src/lib/format.ts'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { expectError } from '../support/expect-error.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowBytes } from '../../support/arrow-upload.ts'

const limits = { maxJsonBytes: 10_000, maxArrowBytes: 800_000 }
const shared = useSharedGateway({ settings: { limits } })

type CreateBody = (bytes: number) => Buffer

const cases: [what: string, target: string, name: keyof typeof limits, create: CreateBody][] = [
  ['JSON', '/v1/table/orders/query', 'maxJsonBytes', jsonBytes],
  ['an Arrow stream', '/v1/table/orders/insert', 'maxArrowBytes', arrowBytes],
]

function jsonBytes(bytes: number): Buffer {
  const [start, end] = ['{"filter":"', '"}']
  return Buffer.from(`${start}${'x'.repeat(bytes - start.length - end.length)}${end}`)
}

function inChunks(body: Buffer): Readable {
  return Readable.from([body.subarray(0, 5_000), body.subarray(5_000)], { objectMode: false })
}

it.each(cases)('%s may be as large as its limit, and no larger', async (_what, target, name, create) => {
  const { gateway, upstream } = shared
  const limit = limits[name]
  for (const send of [(body: Buffer) => body, inChunks]) {
    expect(await gateway.post(target, { body: send(create(limit)) })).toMatchObject({ status: 200 })
    expect(await upstream.requests.splice(0)[0]?.body).toHaveLength(limit)
    const response = await gateway.post(target, { body: send(create(limit + 1)) })
    expectError(response, {
      kind: 'InvalidInput',
      status: 413,
      says: new RegExp(
        `^the body( of ${formatBytes(limit + 1)})? is larger than the limit of ${formatBytes(limit)} \\(limits.${name} of`,
      ),
    })
    const [arrival] = upstream.requests.splice(0)
    // Of an upload, the beginning may have been sent.
    if (arrival !== undefined) await expect(arrival.body).rejects.toThrow('aborted')
  }
})

it('the outcome of an upload that is cut, whose own end may have come before, is unknown', async () => {
  const { gateway, upstream } = shared
  const body = inChunks(arrowBytes(2 * limits.maxArrowBytes))
  expect(await gateway.post('/v1/table/orders/insert', { body })).toMatchObject({ status: 413 })
  await expect(upstream.requests[0]?.body).rejects.toThrow('aborted')
  expect((await gateway.recorded('outcome')).at(-1)).toMatchObject({
    result: 'unknown',
    details: { reason: 'body_too_large' },
  })
})

it('rejects an upload with an excessive content-length before it is recorded', async () => {
  const { gateway } = shared
  const before = (await gateway.recorded('intent')).length
  const body = arrowBytes(limits.maxArrowBytes + 1)
  expect(await gateway.post('/v1/table/orders/insert', { body })).toMatchObject({ status: 413 })
  expect(await gateway.recorded('intent')).toHaveLength(before)
})
