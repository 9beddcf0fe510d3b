import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createDenyPolicy } from '../support/policy-templates.ts'

// A fact was read from one location of the request; a catalog that reads the other one used its default. Every location of
// every fact is in gateway/facts/facts-from-each-source.test.ts.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [
    createAllowPolicy('read', 'branch.like("ci/*")'),
    createDenyPolicy('lake', ['CreateTable']),
    createAllowPolicy('arch'),
  ],
})

it('a branch in the body only is forwarded in the query, too', async () => {
  const target = '/v1/table/read$t/version/list'
  const arrival = await attacked.expectForwarded({ as: 'ci', target, body: '{"branch":"ci/x"}' })
  expect(new URL(arrival.target, 'http://upstream').search).toBe('?branch=ci%2Fx')
  expect(JSON.parse(String(await arrival.body))).toEqual({ branch: 'ci/x' })
  const both = { as: 'ci', target: `${target}?branch=ci/x`, body: '{"branch":"ci/y"}' }
  await attacked.expectInvalid(both, 'must not differ')
})

it('a destination under an alias is forwarded under both names', async () => {
  const attack = { as: 'ci', target: '/v1/table/lake$t/rename' }
  const arrival = await attacked.expectForwarded({
    ...attack,
    body: '{"new_table_name":"u","new_namespace":["arch"]}',
  })
  expect(JSON.parse(String(await arrival.body))).toEqual({
    new_table_name: 'u',
    new_namespace: ['arch'],
    new_namespace_id: ['arch'],
  })
  await attacked.expectDenied(
    { ...attack, body: '{"new_table_name":"u","new_namespace":null}' },
    /CreateTable \(the destination\)/,
  )
  await attacked.expectInvalid(
    { ...attack, body: '{"new_table_name":"u","new_namespace":["arch"],"new_namespace_id":null}' },
    '"new_namespace_id" is null in one place',
  )
})
