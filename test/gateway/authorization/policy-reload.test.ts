import { join } from 'node:path'
import { expect, it } from 'vitest'
import { reloadFiles } from '../../../src/lib/fs/follow-files.ts'
import { formatPolicies } from '../../policy/policy-builder.ts'
import { writeFiles } from '../../policy/source/policy-folder.ts'
import { allowEverything } from '../support/open-gateway.ts'
import { startGatewayAndUpstream } from '../support/running-gateway.ts'
import { eventually } from '../../support/eventually.ts'

it('applies changed policies without a restart, and ignores broken ones', async () => {
  const { gateway } = await startGatewayAndUpstream()
  const status = async (): Promise<number> => (await gateway.post('/v1/table/orders/describe')).status
  const metrics = async (): Promise<string> => gateway.metrics()
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
    const found = await gateway.recorded('reload')
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

it('a broken folder holds back no other, and metric and readiness say so', async () => {
  let freezes = ''
  const { gateway } = await startGatewayAndUpstream({
    adjust: async (settings, folder) => {
      freezes = join(folder, 'freezes')
      await writeFiles(freezes, { 'a.yaml': formatPolicies([{ name: 'freezes', namespace: [], rules: [] }]) })
      return { ...settings, policies: { folder: [...settings.policies.folder, freezes] } }
    },
  })
  const status = async (): Promise<number> => (await gateway.post('/v1/table/orders/describe')).status
  const admin = async (path: string): Promise<string> => (await fetch(gateway.adminUrl + path)).text()
  const inForce = 'catalog_gateway_policy_last_reload_successful'
  expect([await status(), await admin('/metrics')]).toEqual([200, expect.stringContaining(`${inForce} 1`)])

  await gateway.replacePolicies('kind: [')
  const deny = { id: 'all', effect: 'deny', subjects: { any: true }, operations: ['all'] } as const
  await writeFiles(freezes, {
    'a.yaml': formatPolicies([{ name: 'freezes', namespace: [], rules: [deny] }]),
  })
  await reloadFiles()
  expect([await status(), await admin('/metrics')]).toEqual([403, expect.stringContaining(`${inForce} 0`)])
  const { warnings } = JSON.parse(await admin('/readyz'))
  expect(warnings).toEqual({
    policy_folders: expect.stringMatching(/the last policies stay in force; not reloaded: .*policies$/),
  })

  await gateway.replacePolicies(formatPolicies([allowEverything]))
  await reloadFiles()
  expect(await admin('/metrics')).toContain(`${inForce} 1`)
  expect(await admin('/readyz')).not.toContain('policy_folders')
})
