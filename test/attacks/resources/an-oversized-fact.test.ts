import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// The cost of a condition grows with the size of its facts: 30 rules on 60,000 properties blocked all others for over a
// second.
const attacked = attackedGateway()
const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`k${index}`, '']))
const long = 's'.repeat(8193)
const version = { version: 1, manifest_path: 'orders/_versions/staged' }

it.each<[label: string, target: string, body: object, says: string]>([
  ['properties', '/v1/namespace/sandbox$x/create', { properties: many }, '"properties" .* has 1001 keys'],
  [
    'metadata of an entry of a batch',
    '/v1/table/version/batch-create',
    { entries: [{ ...version, id: ['sandbox', 'orders'], metadata: many }] },
    '"entries\\[0\\].metadata" .* 1001 keys',
  ],
  ['a location', '/v1/table/sandbox$x/declare', { location: long }, '8193 characters; expected at most 8192'],
  [
    'a namespace to move to',
    '/v1/table/sandbox$orders/rename',
    { new_table_name: 'x', new_namespace_id: Array.from({ length: 65 }, () => 'a') },
    '65 names; expected at most 64',
  ],
])('rejects an oversized fact in the form of %s', async (_label, target, body, says) => {
  await attacked.expectInvalid({ as: 'owner', target, body }, new RegExp(says))
})
