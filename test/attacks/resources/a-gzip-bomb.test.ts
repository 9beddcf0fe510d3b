import { gzipSync } from 'node:zlib'
import { it } from 'vitest'
import type { ExpectedError } from '../../gateway/support/expect-error.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// 64 KiB that decompress to 64 MiB: the gateway does not decompress.
const attacked = attackedGateway()
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))

it.each<[label: string, target: string, lines: string[], ExpectedError]>([
  [
    'with content-encoding gzip',
    'describe',
    ['content-encoding: gzip'],
    { kind: 'InvalidInput', says: 'content-encoding' },
  ],
  [
    'with content-encoding gzip, gzip',
    'describe',
    ['content-encoding: gzip, gzip'],
    { kind: 'InvalidInput', says: 'content-encoding' },
  ],
  [
    'with content-encoding gzip, for an upload',
    'insert',
    ['content-encoding: gzip'],
    { kind: 'InvalidInput', says: 'content-encoding' },
  ],
  ['without content-encoding', 'describe', [], { kind: 'InvalidInput', says: 'not valid UTF-8' }],
  [
    'with content-type gzip',
    'describe',
    ['content-type: application/gzip'],
    { kind: 'InvalidInput', says: 'content-type' },
  ],
])('rejects a compressed body %s, without decompressing it', async (_label, action, lines, expected) => {
  await attacked.expectRefused({ target: `/v1/table/sandbox$orders/${action}`, lines, body: bomb }, expected)
})

it('forwards no compressed stream of rows', async () => {
  await attacked.expectRefused(
    { target: '/v1/table/sandbox$orders/insert', body: bomb },
    { kind: 'InvalidInput', says: 'not an Arrow stream' },
  )
})
