import { gzipSync } from 'node:zlib'
import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// 64 KiB that decompress to 64 MiB: the gateway does not decompress. Every content-encoding is in body/ambiguous-json.test.ts.
const attacked = attackedGateway()
const body = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))

it.each([
  ['describe', ['content-encoding: gzip, gzip'], 'content-encoding'],
  ['describe', [], 'not valid UTF-8'],
  ['insert', [], 'not an Arrow stream'],
])('rejects a compressed body to %s with %j, without decompressing it', async (action, lines, says) => {
  const target = `/v1/table/sandbox$orders/${action}`
  await attacked.expectInvalid({ target, lines, body }, says)
})
