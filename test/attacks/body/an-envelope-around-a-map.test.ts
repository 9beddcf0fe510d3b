import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// The body of this operation is data of the caller, and names no object; but a catalog that also accepts the map in the member
// `metadata` of an ordinary request reads the id in there.
const attacked = attackedGateway()
const as = 'owner'
const target = '/v1/table/sandbox$orders/schema_metadata/update'
const metadata = { owner: 'ann' }

it.each<[label: string, body: object, member: string]>([
  ['an id', { id: 'production$orders', metadata }, 'metadata'],
  ['an id behind the map', { metadata, id: 'production$orders' }, 'metadata'],
  ['nothing else', { metadata }, 'metadata'],
  ['an id without a map', { id: ['production', 'orders'] }, 'id'],
  ['an identity', { identity: { api_key: 'k' } }, 'identity'],
  ['a query', { query: { branch: 'ci/x' } }, 'query'],
])('rejects an envelope with %s', async (_label, body, member) => {
  const says = new RegExp(`"${member}" in the body is not a string; expected a map of strings`)
  await attacked.expectInvalid({ as, target, body }, says)
})

it('forwards a map with texts of those names unchanged', async () => {
  const body = { id: 'a', identity: 'b', context: 'c', metadata: 'd', ID: 'e', branch: null }
  const arrival = await attacked.expectForwarded({ as, target, body })
  expect(JSON.parse(String(await arrival.body))).toEqual(body)
})

it('rejects a request without a map', async () => {
  await attacked.expectInvalid({ as, target }, 'the body is empty; expected a JSON object')
})
