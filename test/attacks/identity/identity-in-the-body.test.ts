import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// A credential in the body would reach the upstream, although the gateway authenticated another principal.
const attacked = attackedGateway()

it('an identity in the body does not authenticate', async () => {
  const identity = { api_key: attacked.gateway.key('dev') }
  await attacked.expectRefused(
    { as: null, body: { identity } },
    { kind: 'Unauthenticated', says: 'no credential was sent; expected the header x-api-key' },
  )
  const response = await attacked.send({ as: null, body: { identity } })
  expect(response?.json).toMatchObject({
    detail: 'credentials are read from the headers only, never from the body',
  })
})

// At any place, in gateway/json/json-edits-match-model.test.ts.
it.each([
  ['first', '{ "identity" : {"api_key":"k"} , "id":["sandbox","orders"]}', '{  "id":["sandbox","orders"]}'],
  ['with an escape in its name', '{"version":1,"\\u0069dentity":{"api_key":"k"}}', '{"version":1}'],
  [
    'with braces and quotes in it',
    '{"identity":{"api_key":"}\\",{"},"context":{"b":",identity"}}',
    '{"context":{"b":",identity"}}',
  ],
])('removes only the identity %s from the body', async (_label, body, forwarded) => {
  const arrival = await attacked.expectForwarded({ body })
  expect(JSON.parse(String(await arrival.body))).toEqual(JSON.parse(forwarded))
  expect(String(await arrival.body).replaceAll(' ', '')).toBe(forwarded.replaceAll(' ', ''))
})

it('rejects an identity in the query of a plan', async () => {
  await attacked.expectInvalid(
    { target: '/v1/table/sandbox$orders/explain_plan', body: { query: { identity: { api_key: 'k' } } } },
    '"query.identity" is not accepted',
  )
})

it.each(['identity', 'context'])('rejects %s within a batch', async (name) => {
  const entry = {
    id: ['sandbox', 'orders'],
    version: 2,
    manifest_path: 'o/_versions/s',
    [name]: { api_key: 'b' },
  }
  const expected = { kind: 'InvalidInput', says: `${name} is not accepted inside a batch` } as const
  await attacked.expectRefused(
    { target: '/v1/table/version/batch-create', body: { entries: [entry] } },
    expected,
  )
  await attacked.expectRefused(
    { target: '/v1/table/batch-commit', body: { operations: [{ create_table_version: entry }] } },
    expected,
  )
})
