import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Context entries that only the gateway may set, and entries that contradict each other.
const attacked = attackedGateway()

it.each([
  ['x-catalog-ctx-gateway', 'gateway'],
  ['X-Catalog-Ctx-Gateway-User', 'gateway-user'],
  ['x-catalog-ctx-gateway_user', 'gateway_user'],
])('rejects the header %s', async (header, key) => {
  await attacked.expectInvalid(
    { lines: [`${header}: root`] },
    `the context key "${key}" is reserved for the gateway`,
  )
})

it.each([
  ['plain', '{"context":{"gateway":"root"}}'],
  ['with a prefix', '{"context":{"a":"b","gateway-user":"root"}}'],
  ['in capitals', '{"context":{"GATEWAY.user":"root"}}'],
  ['with an escape', '{"context":{"\\u0067\\u0061teway":"root"}}'],
  ['with an escape in the name of the context', '{"\\u0063ontext":{"gateway":"root"}}'],
  ['with space before it', '{"context":{" gateway":"root"}}'],
])('rejects a reserved key in the body: %s', async (_label, body) => {
  await attacked.expectInvalid({ body }, 'is reserved for the gateway')
})

it.each([
  ['a list', ['a'], '"context" in the body is a list; expected an object'],
  ['text', 'a', '"context" in the body is a string; expected an object'],
  ['a number in it', { a: 1 }, '"context.a" in the body is a number; expected a string'],
  ['an object in it', { a: { gateway: 'x' } }, '"context.a" in the body is an object'],
])('rejects a context that is %s', async (_label, context, says) => {
  await attacked.expectInvalid({ body: { context } }, says)
})

it('rejects a context header without a key', async () => {
  await attacked.expectInvalid({ lines: ['x-catalog-ctx-: 1'] }, 'has no context key')
})

it('rejects a context in the query of a plan, which would differ from that of the request', async () => {
  await attacked.expectInvalid(
    { target: '/v1/table/sandbox$orders/explain_plan', body: { query: { context: { trace: 'x' } } } },
    '"query.context" is not accepted',
  )
})

it.each([
  ['alone', '{"context":{"trace":"body"}}', '{"context":{}}'],
  ['in another letter case', '{"context":{"Trace":"body","b":"2"}}', '{"context":{"b":"2"}}'],
  ['with an escape', '{"context":{"b":"2", "tr\\u0061ce":"body"}}', '{"context":{"b":"2"}}'],
  [
    'as a header',
    '{"context":{"a":"1","header.x-catalog-ctx-trace":"body","b":"2"}}',
    '{"context":{"a":"1","b":"2"}}',
  ],
  [
    'in two spellings',
    '{"context":{"trace":"x","TRACE":"y","c":"3"},"version":1}',
    '{"context":{"c":"3"},"version":1}',
  ],
])('removes a context entry that a header repeats, %s, from the body', async (_label, body, forwarded) => {
  const arrival = await attacked.expectForwarded({ body, lines: ['x-catalog-ctx-trace: header'] })
  expect(String(await arrival.body)).toBe(forwarded)
})

it('forwards the context of the body unchanged without such a header', async () => {
  const body = '{"context":{"Trace":"body", "b":"2"}}'
  const arrival = await attacked.expectForwarded({ body, lines: ['x-catalog-ctx-other: 1'] })
  expect(String(await arrival.body)).toBe(body)
})
