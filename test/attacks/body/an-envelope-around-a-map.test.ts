import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

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
  ['an id in one text', { id: 'production$orders', metadata }, /"id" is not accepted beside "metadata"/],
  [
    'an id in one text behind the map',
    { metadata, id: 'production$orders' },
    /expected a list of strings|is not accepted/,
  ],
  ['an id in other letters', { ID: ['production', 'orders'], metadata }, /"ID" in the body is not a string/],
  ['an id that is no list', { id: 5, metadata }, /"id" in the body is a number; expected a list of strings/],
  ['another identity', { identity: { api_key: 'k' }, metadata }, /"identity" is not accepted/],
  ['another id in a query', { metadata, query: { id: ['production'] } }, /has no member "query"/],
  [
    'a query before the map',
    { query: { branch: 'ci/x' }, metadata },
    /"query" in the body is not a string; expected a map of strings/,
  ],
  ['a claim', { context: { 'gateway-principal': 'admin' }, metadata }, /"context" is not accepted beside/],
  [
    'a context that no policy sees',
    { metadata, context: { env: 'prod' } },
    /"context" is not accepted beside/,
  ],
  ['a stranger before the map', { overwrite: 'x', metadata }, /has no member "overwrite"/],
  ['a stranger behind the map', { metadata, overwrite: 'x' }, /has no member "overwrite"/],
])('rejects a map in an envelope with %s', async (_label, body, says) => {
  await attacked.expectInvalid({ as, target, body }, says)
})

it.each([
  ['texts of those names', { id: 'a', identity: 'b', context: 'c', metadata: 'd', ID: 'e' }],
  ['an envelope that agrees', { id: ['sandbox', 'orders'], identity: null, context: {}, metadata }],
])('forwards a map with %s unchanged', async (_label, body) => {
  const arrival = await attacked.expectForwarded({ as, target, body })
  expect(JSON.parse(String(await arrival.body))).toEqual(body)
})
