import { expect, it } from 'vitest'
import { attackedGateway } from './attacked-gateway.ts'

// The body of this operation is data of the caller, and names no object; but a catalog that also accepts a wrapped map
// reads an envelope from it, and may use the id in there.
const attacked = attackedGateway()
const as = 'owner'
const target = '/v1/table/sandbox$orders/schema_metadata/update'
const metadata = { owner: 'ann' }

it.each<[label: string, body: object | string, says: RegExp]>([
  ['another id', { id: ['production', 'orders'], metadata }, /"id" is \["production","orders"\] in the body/],
  ['another id behind the map', { metadata, id: ['production'] }, /they must not differ/],
  ['another id without a map', { id: ['production', 'orders'] }, /they must not differ/],
  ['an id in one text', { id: 'production$orders', metadata }, /"id" beside "metadata" in the body is text/],
  ['an id in one text behind the map', { metadata, id: 'production$orders' }, /is text; omit it/],
  ['an id in other letters', { ID: ['production', 'orders'], metadata }, /is ambiguous; write "id"/],
  ['an id that is no list', { id: 5, metadata }, /"id" in the body is 5; expected a list of strings/],
  ['another identity', { identity: { api_key: 'k' }, metadata }, /"identity" is not accepted/],
  ['another id in a query', { metadata, query: { id: ['production'] } }, /"query.id" is \["production"\]/],
  [
    'a query before the map',
    { query: { branch: 'ci/x' }, metadata },
    /does not accept member "query.branch"/,
  ],
  ['a claim', { context: { 'gateway-principal': 'admin' }, metadata }, /reserved for the gateway/],
])('rejects a map in an envelope with %s', async (_label, body, says) => {
  await attacked.expectRefused({ as, target, body }, { kind: 'InvalidInput', says })
})

it.each([
  ['texts of those names', { id: 'a', identity: 'b', context: 'c', metadata: 'd', ID: 'e' }],
  ['an envelope that agrees', { id: ['sandbox', 'orders'], identity: null, context: { a: 'b' }, metadata }],
])('forwards a map with %s unchanged', async (_label, body) => {
  const arrival = await attacked.expectForwarded({ as, target, body })
  expect(JSON.parse(String(await arrival.body))).toEqual(body)
})
