import { expect, it } from 'vitest'
import { expectError } from '../../gateway/support/expect-error.ts'
import { readExtraOperations } from '../../gateway/support/extra-operations.ts'
import { withUpstream } from '../../gateway/support/open-gateway.ts'
import { respondWith } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { attackedGateway } from '../support/attacked-gateway.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'

// A copy names its target in the body: without a permission there, it would write where the caller may not.
const setup = withUpstream(() => ({
  extraOperations: readExtraOperations([
    {
      name: 'CopyTable',
      path: '/v1/table/{id}/copy',
      group: 'admin',
      idMembers: { target_table: 'CreateTable', into: 'ListTables', source: 'QueryTable' },
      members: ['pad'],
    },
  ]),
}))
const attacked = attackedGateway(setup)
const target = '/v1/table/sandbox$orders/copy'
const forbidden = { kind: 'PermissionDenied', says: 'target_table' } as const

it('an object that the caller may not change is refused', async () => {
  for (const id of [
    ['production', 'orders'],
    ['sandbox', 'inner', 'vault'],
    ['Sandbox', 'x'],
  ])
    await attacked.expectRefused({ as: 'owner', target, body: { target_table: id } }, forbidden)
  const body = { target_table: ['sandbox', 'copy'], into: ['production'] }
  await attacked.expectDenied({ as: 'owner', target, body }, 'into')
})

it('a table of which the caller may read a part is refused, as the upstream would read all of it', async () => {
  const subjects = { users: ['dev'] }
  const { gateway, upstream } = await startGatewayAndUpstream({
    ...setup,
    policies: [
      policyOf([], [ruleFor(['dev'])], {
        restrict: [{ id: 'part', subjects, tables: ['people'], columns: { id: 'number' } }],
      }),
    ],
  })
  const copyFrom = (source: readonly string[]) => gateway.post(target, { body: { source } })
  expectError(await copyFrom(['people']), {
    kind: 'PermissionDenied',
    says: 'QueryTable',
    detail: 'authenticated as dev; you may read a part of this table only',
  })
  expect(upstream.requests).toEqual([])
  expect(await copyFrom(['others'])).toMatchObject({ status: 200 })
})

it('the permission on the table of the route is still needed', async () => {
  const body = { target_table: ['sandbox', 'copy'] }
  await attacked.expectDenied({ as: 'writer', target, body }, 'CopyTable')
})

it.each(['sandbox$copy', [], ['sandbox', 7], ['sandbox', '..'], [['sandbox', 'copy']]])(
  'the value %j, which is no id, is refused',
  async (value) => {
    const body = { target_table: value }
    await attacked.expectInvalid({ as: 'owner', target, body }, /target_table|the id/)
  },
)

it.each(['targetTable', 'target_table\u0000x'])(
  'the spelling %j, which some catalogs read as that member, is refused',
  async (name) => {
    const body = { [name]: ['production', 'orders'] }
    await attacked.expectInvalid({ as: 'owner', target, body }, 'ambiguous')
  },
)

it('a duplicate member and a last part of a large body are refused, too', async () => {
  const twice = '{"target_table":["sandbox","copy"],"target_table":["production","orders"]}'
  await attacked.expectInvalid({ as: 'owner', target, body: twice }, 'target_table')
  const late = `{"pad":"${'x'.repeat(512 * 1024)}","target_table":["production","orders"]}`
  await attacked.expectRefused({ as: 'owner', target, body: late }, forbidden)
})

it('an allowed object is forwarded unchanged', async () => {
  for (const body of [
    '{"target_table":["sandbox","copy"],"into":["sandbox"]}',
    '{"target_table":null}',
    '{}',
  ]) {
    const arrival = await attacked.expectForwarded({ as: 'owner', target, body })
    expect(String(await arrival.body)).toBe(body)
  }
})

it('an object of another upstream is refused', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    adjust: async (settings, folder) => {
      const changed = (await setup.adjust?.(settings, folder)) ?? settings
      const lake = changed.upstreams.map((one) => ({ ...one, name: 'lake', namespaces: [['lake']] }))
      return { ...changed, upstreams: [...changed.upstreams, ...lake] }
    },
  })
  const refused = await gateway.post(target, { body: { target_table: ['lake', 'copy'] } })
  expectError(refused, { kind: 'InvalidInput', says: 'different catalogs' })
  expect(upstream.requests).toEqual([])
})

it('the audit record contains the object', async () => {
  const { gateway } = await startGatewayAndUpstream(setup)
  const body = { target_table: ['sandbox', 'copy'] }
  expect((await gateway.post(target, { body })).status).toBe(200)
  await gateway.stop()
  expect(await gateway.recorded('intent')).toMatchObject([
    {
      operation: 'CopyTable',
      id: ['sandbox', 'orders'],
      details: { target_table: ['sandbox', 'copy'] },
    },
  ])
})

it('credentials of the object are withheld from callers that may not receive them', async () => {
  const vending = ruleFor(['dev'], ['VendCredentials'], { effect: 'deny' })
  const { gateway, upstream } = await startGatewayAndUpstream({
    ...setup,
    policies: [policyOf([], [ruleFor(['dev'])]), policyOf(['closed'], [vending])],
  })
  upstream.handler = respondWith(200, { storage_options: { aws_secret_access_key: 's', region: 'eu' } })
  const copy = async (namespace: string) =>
    (await gateway.post(target, { body: { target_table: [namespace, 'copy'] } })).json
  expect(await copy('open')).toEqual({ storage_options: { aws_secret_access_key: 's', region: 'eu' } })
  expect(await copy('closed')).toEqual({ storage_options: { region: 'eu' } })
})
