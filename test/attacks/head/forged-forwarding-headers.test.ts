import { expect, it } from 'vitest'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'

// An upstream may trust headers that only a proxy in front of it should set.
const attacked = attackedGateway()

it.each([
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-user',
  'x-forwarded-groups',
  'x-forwarded-email',
  'x-forwarded-access-token',
  'x-forwarded-client-cert',
  'x-real-ip',
  'forwarded',
  'via',
  'cookie',
  'proxy-authorization',
])('%s of a client does not reach the upstream', async (name) => {
  const arrival = await attacked.expectForwarded({ lines: [`${name}: for=10.0.0.1`] })
  expect(getHeaderValues(arrival, name)).toEqual([])
})

it.each(['x-catalog-ctx-gateway', 'x-catalog-ctx-gateway-principal', 'X-Catalog-Ctx-Gateway_User'])(
  'the context header %s is reserved',
  async (name) => {
    await attacked.expectRefused(
      { lines: [`${name}: admin`] },
      { kind: 'InvalidInput', says: 'is reserved for the gateway' },
    )
  },
)

it.each(['gateway', 'gateway-principal', 'Gateway.user', 'GATEWAY_USER'])(
  'the context key %s is reserved in a body, too',
  async (key) => {
    await attacked.expectRefused(
      { body: { context: { [key]: 'admin' } } },
      { kind: 'InvalidInput', says: `the context key "${key}" is reserved for the gateway` },
    )
  },
)

it.each([
  ['a context that is a list', { context: [['gateway', 'admin']] }],
  ['a context that is text', { context: 'gateway=admin' }],
  ['a context of objects', { context: { a: { gateway: 'admin' } } }],
])('%s is rejected', async (_label, body) => {
  await attacked.expectRefused({ body }, { kind: 'InvalidInput', says: 'context' })
})

it('rejects a context header without a key', async () => {
  await attacked.expectRefused(
    { lines: ['x-catalog-ctx-: 1'] },
    { kind: 'InvalidInput', says: 'has no context key' },
  )
})
