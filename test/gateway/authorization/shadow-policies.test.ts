import { expect, it } from 'vitest'
import { policyOf, ruleFor } from '../../attacks/support/policy-templates.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

const any = { subjects: { any: true } } as const
const noDrops = policyOf([], [ruleFor([], ['drop'], { effect: 'deny', ...any })], { name: 'no-drops' })
const forAll = policyOf([], [ruleFor([], ['read'], any)], { name: 'for-all' })

async function differences(
  adminUrl: string,
  name = 'catalog_gateway_policy_shadow_differences_total',
): Promise<readonly string[]> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .toSorted()
}

it('counts different decisions of shadow policies in the folder, without effect', async () => {
  const { gateway } = await startGatewayAndUpstream({
    users: ['guest'],
    policies: [allowEverything, { ...noDrops, mode: 'shadow' }, { ...forAll, mode: 'shadow' }],
  })
  const describe = '/v1/table/orders/describe'
  expect((await gateway.post('/v1/table/orders/drop')).status).toBe(200)
  expect((await gateway.post('/v1/table/orders/drop')).status).toBe(200)
  expect((await gateway.post(describe, { as: 'guest' })).status).toBe(403)
  expect((await gateway.post(describe)).status).toBe(200)
  expect(await differences(gateway.adminUrl)).toEqual([
    'catalog_gateway_policy_shadow_differences_total{operation="DescribeTable",change="deny_to_allow"} 1',
    'catalog_gateway_policy_shadow_differences_total{operation="DropTable",change="allow_to_deny"} 2',
  ])
})

it('counts what restrictions of shadow policies would rewrite and refuse, without effect', async () => {
  const columns = { id: 'number', name: 'text' } as const
  const part = { id: 'part', subjects: { users: ['guest'] }, tables: ['orders'], columns, rows: 'id > 0' }
  const { gateway, upstream } = await startGatewayAndUpstream({
    users: ['guest'],
    policies: [
      allowEverything,
      forAll,
      { name: 'part', namespace: [], mode: 'shadow', restrict: [part], rules: [] },
    ],
  })
  const bodies = [
    {},
    { columns: ['id'], filter: 'id = 1', k: 3 },
    { columns: ['ssn'] },
    { filter: 'id + 1 = 2' },
    { version: 1 },
    { with_row_id: true },
  ]
  for (const body of bodies) await gateway.post('/v1/table/orders/query', { as: 'guest', body })
  await gateway.post('/v1/table/orders/count_rows', { as: 'guest', body: { predicate: "name = 'x'" } })
  await gateway.post('/v1/table/orders/query', { body: {} })
  await gateway.post('/v1/table/others/query', { as: 'guest', body: {} })
  expect(await differences(gateway.adminUrl, 'catalog_gateway_policy_shadow_restrictions_total')).toEqual(
    [
      ['CountTableRows', 'restricted', 1],
      ['QueryTable', 'restricted', 2],
      ['QueryTable', 'restricted_column', 1],
      ['QueryTable', 'restricted_filter', 1],
      ['QueryTable', 'restricted_member', 1],
      ['QueryTable', 'restricted_version', 1],
    ].map(
      ([operation, result, count]) =>
        `catalog_gateway_policy_shadow_restrictions_total{operation="${operation}",result="${result}"} ${count}`,
    ),
  )
  expect(await differences(gateway.adminUrl, 'catalog_gateway_restricted_reads_total')).toEqual([])
  const sent = await Promise.all(upstream.requests.map(({ body }) => body))
  expect(sent.slice(0, bodies.length).map((body) => JSON.parse(String(body)))).toEqual(bodies)
})
