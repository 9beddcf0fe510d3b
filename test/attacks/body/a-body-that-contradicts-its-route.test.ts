import { expect, it } from 'vitest'
import { getOperation, operationNames } from '../../../src/catalog-api/operations.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// The route is authorized; an upstream that prefers the body would act on another object.
const attacked = attackedGateway()
const withRouteId = operationNames
  .map(getOperation)
  .filter(({ routeMembers, method }) => routeMembers.includes('id') && method === 'POST')

it.each(withRouteId.map(({ name, path, required }) => [name, path, required] as const))(
  '%s rejects an id in the body that differs from the route',
  async (_name, path, required) => {
    const query = required.map((parameter) => `${parameter}=x`).join('&')
    const target = `${path.replace('{id}', 'sandbox$orders').replace('{index_name}', 'i')}?${query}`
    for (const id of [['production', 'orders'], ['sandbox'], ['sandbox', 'orders', 'x']]) {
      await attacked.expectInvalid(
        { as: 'dev', target, body: { id } },
        /"id" is .* in the body and \["sandbox","orders"\] in the route; they must/,
      )
    }
  },
)

it('does not forward an empty id in a body, which clients send by default', async () => {
  const body = '{"id":[], "context" : {},"version":1}'
  const arrival = await attacked.expectForwarded({ target: '/v1/table/sandbox$orders/describe', body })
  expect(String(await arrival.body)).toBe('{"version":1}')
})

it('forwards the parts of an id that is the text of the route', async () => {
  const [id, parts] = [['sandbox$orders'], ['sandbox', 'orders']]
  for (const [action, body, expected] of [
    ['describe', { id }, { id: parts }],
    ['explain_plan', { id, query: { id, k: 1 } }, { id: parts, query: { id: parts, k: 1 } }],
  ] as const) {
    const arrival = await attacked.expectForwarded({ target: `/v1/table/sandbox$orders/${action}`, body })
    expect(JSON.parse(String(await arrival.body))).toEqual(expected)
  }
})

it.each([
  ['the text of another route', ['production$orders']],
  ['the text of the route with another delimiter', ['sandbox.orders']],
  ['text', 'sandbox$orders'],
  ['a number in it', ['sandbox', 1]],
  ['a list in it', [['sandbox'], 'orders']],
  ['an object', { 0: 'sandbox', 1: 'orders', length: 2 }],
  ['true', true],
])('rejects an id that is %s', async (_label, id) => {
  await attacked.expectInvalid({ body: { id } }, '"id"')
})

it.each([
  [
    '/v1/table/sandbox$o/index/one/stats',
    { index_name: 'two' },
    '"index_name" is "two" in the body and "one"',
  ],
  ['/v1/table/sandbox$o/index/one/stats', { index_name: 1 }, 'expected a string'],
  ['/v1/table/sandbox$o/explain_plan', { query: { id: ['production', 'o'] } }, '"query.id"'],
  ['/v1/table/sandbox$o/describe?with_table_uri=false', { with_table_uri: true }, '"with_table_uri"'],
  [
    '/v1/table/sandbox$o/version/list?branch=one',
    { branch: 'two' },
    'the query parameter "branch" is "one" and the member "branch" of the body is "two"',
  ],
])('%s with %j is rejected', async (target, body, says) => {
  await attacked.expectInvalid({ target, body }, says)
})

it('forwards a consistent body unchanged', async () => {
  const body = '{"id" : ["sandbox","orders"], "with_table_uri":true}'
  const target = '/v1/table/sandbox$orders/describe?with_table_uri=true'
  expect(String(await (await attacked.expectForwarded({ target, body })).body)).toBe(body)
})
