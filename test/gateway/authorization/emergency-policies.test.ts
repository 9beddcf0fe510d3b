import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { formatPolicies, type WrittenPolicy } from '../../policy/policy-builder.ts'
import { allowEverything, openGateway } from '../support/open-gateway.ts'
import { startRecordingUpstream } from '../support/recording-upstream.ts'
import { eventually } from '../../support/eventually.ts'

/** Named as the policy of the main folder: names of the two do not collide. */
const denyOrders: WrittenPolicy = {
  name: allowEverything.name,
  namespace: [],
  rules: [
    {
      id: 'stop',
      effect: 'deny',
      subjects: { any: true },
      operations: ['DescribeTable'],
      tables: ['orders'],
    },
  ],
}

async function startWithEmergencyFolder(
  first: string | undefined,
  policies: readonly WrittenPolicy[] = [allowEverything],
) {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  let folder = ''
  const gateway = await openGateway(upstream.url, {
    policies,
    adjust: async (settings, root) => {
      folder = join(root, 'emergency')
      await mkdir(folder)
      if (first !== undefined) await writeFile(join(folder, 'deny.yaml'), first)
      return { ...settings, policies: { ...settings.policies, emergencyFolder: folder } }
    },
  })
  onTestFinished(() => gateway.close())
  return {
    gateway,
    folder,
    /** Replaces the emergency policies. */
    write: async (text: string) => {
      const written = join(folder, '..', 'deny')
      await writeFile(written, text)
      await rename(written, join(folder, 'deny.yaml'))
    },
    status: async () => (await gateway.post('/v1/table/orders/describe')).status,
    metrics: async () => (await fetch(`${gateway.adminUrl}/metrics`)).text(),
  }
}

const failed = 'catalog_gateway_policy_last_reload_successful 0'

it('an emergency deny takes effect while the main policies do not compile, and is lifted by removing it', async () => {
  const { gateway, status, metrics, write, folder } = await startWithEmergencyFolder(undefined)
  expect(await status()).toBe(200)
  await gateway.replacePolicies('kind: [')
  await eventually(async () => expect(await metrics()).toContain(failed))
  await write(formatPolicies([denyOrders]))
  await eventually(async () => expect(await status()).toBe(403))
  expect(await metrics()).toContain(failed)
  await rm(join(folder, 'deny.yaml'))
  await eventually(async () => expect(await status()).toBe(200))
})

it('an invalid emergency policy holds back neither the main policies nor the last emergency policies', async () => {
  const { gateway, status, metrics, write } = await startWithEmergencyFolder(formatPolicies([denyOrders]))
  expect(await status()).toBe(403)
  await write('kind: [')
  await eventually(async () => expect(await metrics()).toContain(failed))
  await gateway.replacePolicies(formatPolicies([{ ...allowEverything, rules: [] }]))
  const other = async (): Promise<number> => (await gateway.post('/v1/table/others/describe')).status
  await eventually(async () => expect(await other()).toBe(403))
  await gateway.replacePolicies(formatPolicies([allowEverything]))
  await eventually(async () => expect(await other()).toBe(200))
  expect(await status()).toBe(403)
})

it('an emergency folder that vanishes keeps its last policies', async () => {
  const { status, metrics, folder } = await startWithEmergencyFolder(formatPolicies([denyOrders]))
  await rename(folder, `${folder}-gone`)
  await eventually(async () => expect(await metrics()).toContain(failed))
  expect(await status()).toBe(403)
})

it('an emergency deny also holds beneath a namespace that does not inherit', async () => {
  const { gateway } = await startWithEmergencyFolder(
    formatPolicies([
      {
        ...denyOrders,
        rules: [{ id: 'stop', effect: 'deny', subjects: { any: true }, operations: ['DescribeTable'] }],
      },
    ]),
    [{ ...allowEverything, name: 'beneath', namespace: ['a'], inherit: false }, allowEverything],
  )
  expect((await gateway.post('/v1/table/a$orders/describe')).status).toBe(403)
})

it.each([
  ['an allow rule', { ...denyOrders, rules: allowEverything.rules }, 'has effect: allow in the emergency'],
  ['inherit: false', { ...denyOrders, inherit: false }, 'inherit: false in the emergency folder'],
  ['final', { ...denyOrders, final: ['DropTable'] }, 'final in the emergency folder'],
  ['onDeny', { ...denyOrders, onDeny: 404 }, 'onDeny in the emergency folder'],
  ['mode: shadow', { ...denyOrders, mode: 'shadow' }, 'mode: shadow in the emergency folder'],
] as const)('a start with %s in the emergency folder fails', async (_, policy, message) => {
  await expect(startWithEmergencyFolder(formatPolicies([policy]))).rejects.toThrow(message)
})

it('a start without the emergency folder fails', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const started = openGateway(upstream.url, {
    adjust: (settings, root) => ({
      ...settings,
      policies: { ...settings.policies, emergencyFolder: join(root, 'none') },
    }),
  })
  await expect(started).rejects.toThrow('none: cannot be read (ENOENT)')
})
