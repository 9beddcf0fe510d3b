import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import type { ExpectedError } from '../gateway/support/expect-error.ts'
import { attackedGateway } from './attacked-gateway.ts'

// 64 KiB that decompress to 64 MiB: the gateway does not decompress.
const attacked = attackedGateway()
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))

it.each<[what: string, target: string, lines: string[], ExpectedError]>([
  [
    'said to be packed',
    'describe',
    ['content-encoding: gzip'],
    { kind: 'InvalidInput', says: 'content-encoding' },
  ],
  [
    'said to be packed twice',
    'describe',
    ['content-encoding: gzip, gzip'],
    { kind: 'InvalidInput', says: 'content-encoding' },
  ],
  [
    'said to be packed, for rows',
    'insert',
    ['content-encoding: gzip'],
    { kind: 'InvalidInput', says: 'content-encoding' },
  ],
  ['packed without a word', 'describe', [], { kind: 'InvalidInput', says: 'not valid UTF-8' }],
  [
    'of the type gzip',
    'describe',
    ['content-type: application/gzip'],
    { kind: 'InvalidInput', says: 'content-type' },
  ],
])('rejects a body that is %s without decompressing it', async (_what, action, lines, expected) => {
  await attacked.isRefused({ target: `/v1/table/sandbox$orders/${action}`, lines, body: bomb }, expected)
})

it('forwards compressed rows as opaque bytes', async () => {
  const arrival = await attacked.passes({ target: '/v1/table/sandbox$orders/insert', body: bomb })
  expect(bomb.equals(await arrival.body)).toBe(true)
})
