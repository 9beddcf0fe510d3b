import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { formatPolicies } from '../../policy/policy-builder.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'

const noDrops = {
  name: 'no-drops',
  namespace: [],
  rules: [{ id: 'no', effect: 'deny', subjects: { any: true }, operations: ['drop'] }],
} as const
const forAll = {
  name: 'for-all',
  namespace: [],
  rules: [{ id: 'read', effect: 'allow', subjects: { any: true }, operations: ['read'] }],
} as const

async function differences(adminUrl: string): Promise<readonly string[]> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => line.startsWith('catalog_gateway_policy_shadow_differences_total{'))
    .toSorted()
}

const expected = [
  'catalog_gateway_policy_shadow_differences_total{operation="DescribeTable",change="deny_to_allow"} 1',
  'catalog_gateway_policy_shadow_differences_total{operation="DropTable",change="allow_to_deny"} 2',
]

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
  expect(await differences(gateway.adminUrl)).toEqual(expected)
})

it('counts different decisions of a candidate folder, without effect', async () => {
  const { gateway } = await startGatewayAndUpstream({
    users: ['guest'],
    adjust: async (settings, folder) => {
      const candidate = join(folder, 'candidate')
      await mkdir(candidate)
      await writeFile(join(candidate, 'all.yaml'), formatPolicies([allowEverything, noDrops, forAll]))
      return { ...settings, policies: { ...settings.policies, candidateFolder: candidate } }
    },
  })
  expect((await gateway.post('/v1/table/orders/drop')).status).toBe(200)
  expect((await gateway.post('/v1/table/orders/drop')).status).toBe(200)
  expect((await gateway.post('/v1/table/orders/describe', { as: 'guest' })).status).toBe(403)
  expect(await differences(gateway.adminUrl)).toEqual(expected)
})
