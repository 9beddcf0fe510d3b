import { it } from 'vitest'
import type { ExpectedError } from '../../gateway/support/expect-error.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Node joins two x-api-key headers and drops the second Authorization; other servers take the last of each.
const attacked = attackedGateway()

function repeated(header: string): ExpectedError {
  return { kind: 'InvalidInput', says: `the header "${header}" is repeated` }
}

it.each<[label: string, lines: string[], ExpectedError]>([
  ['a second key', ['x-api-key: other'], repeated('x-api-key')],
  ['a second key in another case', ['X-API-KEY: other'], repeated('x-api-key')],
  ['an empty second key', ['x-api-key:'], repeated('x-api-key')],
  [
    'a second host',
    ['host: inside.example'],
    { kind: 'InvalidInput', says: /the header "host" is repeated|malformed HTTP request/ },
  ],
  ['a second content type', ['content-type: a/b', 'Content-Type: c/d'], repeated('content-type')],
  ['a second encoding', ['content-encoding: a', 'content-encoding: b'], repeated('content-encoding')],
  ['a second origin', ['origin: https://a', 'origin: https://b'], repeated('origin')],
  [
    'a second relation of the page',
    ['sec-fetch-site: none', 'sec-fetch-site: cross-site'],
    repeated('sec-fetch-site'),
  ],
  ['a second request id', ['x-request-id: a', 'x-request-id: b'], repeated('x-request-id')],
  ['context twice', ['x-catalog-ctx-a: 1', 'X-Catalog-Ctx-A: 2'], repeated('x-catalog-ctx-a')],
  [
    'a location twice',
    ['x-catalog-table-location: a', 'x-catalog-table-location: b'],
    repeated('x-catalog-table-location'),
  ],
])('%s is rejected', async (_label, lines, expected) => {
  await attacked.expectRefused({ lines }, expected)
})

it.each<[label: string, lines: string[], ExpectedError]>([
  ['two tokens', ['authorization: Bearer a.b.c', 'authorization: Bearer d.e.f'], repeated('authorization')],
  ['the same token twice', ['authorization: Bearer a', 'Authorization: Bearer a'], repeated('authorization')],
  [
    'two tokens in one header',
    ['authorization: Bearer a, Bearer b'],
    { kind: 'InvalidInput', says: 'one token' },
  ],
  ['two keys in one header', ['x-api-key: a, b'], { kind: 'Unauthenticated', says: 'malformed API key' }],
])('%s without a key is refused', async (_label, lines, expected) => {
  await attacked.expectRefused({ as: null, lines }, expected)
})
