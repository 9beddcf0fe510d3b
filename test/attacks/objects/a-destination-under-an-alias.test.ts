import { expect, it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { createAllowPolicy, createDenyPolicy } from '../support/policy-templates.ts'

// The alias of the namespace member was authorized; a catalog that knows only the other name used the source namespace.
const attacked = attackedGateway({
  users: ['ci'],
  policies: [createDenyPolicy('lake', ['CreateTable']), createAllowPolicy('arch')],
})
const target = '/v1/table/lake$t/rename'

it('forwards the authorized destination in all its spellings', async () => {
  const body = '{"new_table_name":"u","new_namespace":["arch"]}'
  const arrival = await attacked.expectForwarded({ as: 'ci', target, body })
  expect(JSON.parse(String(await arrival.body))).toEqual({
    new_table_name: 'u',
    new_namespace: ['arch'],
    new_namespace_id: ['arch'],
  })
})

it.each([
  '{"new_table_name":"u"}',
  '{"new_table_name":"u","new_namespace":["lake"]}',
  '{"new_table_name":"u","new_namespace":null}',
])('%s creates in the source', async (body) => {
  await attacked.expectRefused(
    { as: 'ci', target, body },
    { kind: 'PermissionDenied', says: /CreateTable \(the destination\)/ },
  )
})

it('rejects a null next to the destination', async () => {
  const body = '{"new_table_name":"u","new_namespace":["arch"],"new_namespace_id":null}'
  const says = '"new_namespace_id" is null in one place'
  await attacked.expectRefused({ as: 'ci', target, body }, { kind: 'InvalidInput', says })
})
