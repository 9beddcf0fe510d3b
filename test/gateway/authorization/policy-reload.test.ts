import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { formatPolicies } from '../../policy/policy-builder.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

it('applies changed policies without a restart, and ignores broken ones', async () => {
  const { gateway } = await startGatewayAndUpstream()
  const status = async (): Promise<number> => (await gateway.post('/v1/table/orders/describe')).status
  const metrics = async (): Promise<string> => (await fetch(`${gateway.adminUrl}/metrics`)).text()
  expect(await status()).toBe(200)

  await gateway.replacePolicies(formatPolicies([{ ...allowEverything, rules: [] }]))
  await eventually(async () => expect(await status()).toBe(403))
  await gateway.replacePolicies('kind: [')
  const failed = 'catalog_gateway_policy_reloads_total{result="failure"} 1'
  await eventually(async () => expect(await metrics()).toContain(failed))
  expect(await status()).toBe(403)
  await gateway.replacePolicies(formatPolicies([allowEverything]))
  await eventually(async () => expect(await status()).toBe(200))

  // A reload takes effect before its record is on disk.
  const reloads = await eventually(async () => {
    const found = ofKind(await recordsOf(gateway.auditFolder), 'reload')
    expect(found).toHaveLength(3)
    return found
  })
  expect(reloads).toMatchObject([
    { what: 'policies' },
    { what: 'policies', details: { result: 'failure' } },
    { what: 'policies' },
  ])
  expect(await metrics()).toContain(`catalog_gateway_policy_info{revision="${reloads[2]?.revision}"} 1`)
})
