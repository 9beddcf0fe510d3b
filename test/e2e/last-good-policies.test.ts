import { mkdir, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { revokeKey } from '../../src/identity/api-keys/key-store.ts'
import { ofKind, recordsOf } from '../audit/audit-fixtures.ts'
import { linesOf } from '../observability/serving-gateway.ts'
import { formatPolicies } from '../policy/policy-builder.ts'
import {
  allowFor,
  invalidPolicy,
  restartableGateway,
  type RestartableGateway,
} from './restartable-gateway.ts'
import { eventually } from '../support/eventually.ts'

const stopOrders = formatPolicies([
  {
    name: 'stop',
    namespace: [],
    rules: [
      { id: 'orders', effect: 'deny', subjects: { any: true }, operations: ['all'], tables: ['orders'] },
    ],
  },
])

it('a gateway restarted with invalid policies uses those last in force, says so, and takes valid ones at once', async () => {
  const gateway = await restartableGateway()
  await writeFile(join(gateway.folder, 'emergency', 'deny.yaml'), stopOrders)
  const revoked = await gateway.createKey()
  // What a crash left of an earlier write.
  await mkdir(join(gateway.folder, 'data'))
  await writeFile(`${gateway.stored}.0123456789ab.tmp`, '{"format":')
  await gateway.startProgram()
  expect([
    await gateway.read(),
    await gateway.read('parts'),
    await gateway.read('parts', revoked.text),
  ]).toEqual([403, 200, 200])
  const { revision, inForceSince } = JSON.parse((await gateway.storedAfter()).split('\n')[0] ?? '')
  expect(await readdir(join(gateway.folder, 'data'))).toEqual(['last-good-policies'])
  await gateway.stop('SIGKILL')

  // Neither keys nor emergency denies are stored: the present ones count.
  await revokeKey(join(gateway.folder, 'keys.yaml'), revoked.key.id)
  await gateway.writePolicies(invalidPolicy)
  await writeFile(join(gateway.folder, 'emergency', 'deny.yaml'), stopOrders.replace('orders"]', 'parts"]'))
  const program = await gateway.startProgram()
  expect([await gateway.read(), await gateway.read('parts')]).toEqual([200, 403])
  expect(await gateway.read('orders', revoked.text)).toBe(401)
  const message = 'policies do not compile: last good policies in force'
  await eventually(() => {
    const whole = program.messages().replace(/[^\n]*$/, '')
    expect(linesOf(whole).find(({ msg }) => msg === message)).toMatchObject({
      level: 50,
      revision,
      inForceSince,
      usableUntil: expect.any(String),
      error: expect.stringContaining('policies.yaml:1:'),
    })
  })
  const metric = 'catalog_gateway_policy_last_good'
  expect(await gateway.admin('/metrics')).toContain(`${metric} 1`)
  expect(await gateway.admin('/metrics')).toContain('catalog_gateway_policy_last_reload_successful 0')
  expect(await gateway.admin('/readyz')).toContain(`those in force since ${inForceSince} are used instead`)
  const reloads = async () =>
    ofKind(await recordsOf(join(gateway.folder, 'audit')), 'reload').filter(
      ({ what }) => what === 'policyFiles',
    )
  expect((await reloads()).at(-1)).toMatchObject({ revision, details: { result: 'last_good' } })

  const kept = await gateway.storedAfter()
  await gateway.writePolicies(formatPolicies([allowFor('dev', ['query'])]))
  await eventually(async () => expect(await gateway.admin('/metrics')).toContain(`${metric} 0`))
  expect(await gateway.admin('/readyz')).not.toContain('last_good')
  await gateway.storedAfter(kept)
  await gateway.stop()
  expect((await reloads()).at(-1)).not.toHaveProperty('details')
})

interface Violation {
  readonly reason: string
  readonly violate: (gateway: RestartableGateway) => Promise<unknown>
}

/** Reasons against stored policies beside present ones that do not compile. */
const violations: readonly Violation[] = [
  {
    reason: 'they are not authentic',
    violate: async ({ stored }) =>
      writeFile(
        stored,
        (await readFile(stored, 'utf8')).replace(String.raw`[\"dev\"]`, String.raw`[\"eve\"]`),
      ),
  },
  {
    reason: 'they are not authentic',
    violate: async ({ stored }) => writeFile(stored, (await readFile(stored, 'utf8')).slice(0, 200)),
  },
  {
    reason: 'they are not authentic',
    violate: ({ folder }) => writeFile(join(folder, 'key'), 'another key of thirty-two bytes or more'),
  },
  { reason: 'none are stored', violate: ({ stored }) => unlink(stored) },
  {
    reason: 'the audit log does not prove which policies were last in force',
    violate: ({ folder }) => rm(join(folder, 'audit'), { recursive: true }),
  },
]

it('stored policies that are changed, missing, from elsewhere or without a record are not used', async () => {
  const gateway = await restartableGateway()
  const [key, keyFile] = [await readFile(join(gateway.folder, 'key')), join(gateway.folder, 'key')]
  await gateway.start()
  const stored = await gateway.storedAfter()
  await gateway.stop()
  await gateway.writePolicies(invalidPolicy)
  for (const { reason, violate } of violations) {
    await violate(gateway)
    await expectRefusal(gateway, reason)
    await writeFile(gateway.stored, stored)
    await writeFile(keyFile, key)
  }
})

it('stored policies are not used if the present ones are missing, unreadable or empty', async () => {
  const gateway = await restartableGateway()
  await gateway.start()
  await gateway.storedAfter()
  await gateway.stop()
  const policies = join(gateway.folder, 'policies')
  await rm(policies, { recursive: true })
  const startWithout = async (expected: string): Promise<void> => {
    const message = await readStartError(gateway)
    expect(message).toContain(expected)
    expect(message).not.toContain('last good')
  }
  await startWithout('policies: cannot be read (ENOENT)')
  await mkdir(policies)
  await symlink('nowhere', join(policies, 'policies.yaml'))
  await startWithout('policies.yaml: cannot be read (ENOENT)')
  await unlink(join(policies, 'policies.yaml'))
  await gateway.start()
  expect(await gateway.read()).toBe(404)
  expect(await gateway.admin('/metrics')).toContain('catalog_gateway_policy_last_good 0')
  expect(await gateway.admin('/readyz')).toContain('no policies loaded')
  await gateway.stop()
})

async function expectRefusal(gateway: RestartableGateway, reason: string): Promise<void> {
  const message = await readStartError(gateway)
  expect(message).toContain('policies.yaml:1:')
  expect(message).toContain(`the last good policies cannot be used instead: ${reason}`)
}

async function readStartError(gateway: RestartableGateway): Promise<string> {
  return gateway.start().then(
    () => 'started',
    (error: unknown) => String(error),
  )
}

it('a start with an older revision put back on the volume fails', async () => {
  const gateway = await restartableGateway()
  await gateway.start()
  const older = await gateway.storedAfter()
  await gateway.writePolicies(formatPolicies([allowFor('robin')]))
  await gateway.storedAfter(older)
  await gateway.stop()
  await writeFile(gateway.stored, older)
  await gateway.writePolicies(invalidPolicy)
  await expectRefusal(gateway, 'they are revision ')
  // The failed start has recorded nothing that would make the next one succeed.
  await expectRefusal(gateway, 'they are revision ')
})

it('a start under settings that give the stored policies no meaning fails', async () => {
  const gateway = await restartableGateway()
  const extraOperations = [{ name: 'CompactTable', path: '/v1/table/{id}/compact' }]
  const upstream = { url: 'http://127.0.0.1:1' }
  await gateway.writeSettings({ upstream: { ...upstream, extraOperations } })
  await gateway.writePolicies(formatPolicies([allowFor('dev', ['CompactTable'])]))
  await gateway.start()
  await gateway.storedAfter()
  await gateway.stop()
  await gateway.writeSettings({ upstream })
  expect(await readStartError(gateway)).toContain('instead: the present settings give them another meaning')
})

it('a start with the key in the folder of the stored policies fails, even by a link', async () => {
  const gateway = await restartableGateway({ keyFile: 'data/key' })
  await mkdir(join(gateway.folder, 'data'))
  await rename(join(gateway.folder, 'key'), join(gateway.folder, 'data', 'key'))
  const refused = 'the key of the last good policies is in their folder'
  expect(await readStartError(gateway)).toContain(refused)
  await symlink(join('data', 'key'), join(gateway.folder, 'key'))
  await gateway.writeSettings({
    policies: { folder: 'policies', lastGood: { folder: 'data', keyFile: 'key' } },
  })
  expect(await readStartError(gateway)).toContain(refused)
  await unlink(join(gateway.folder, 'key'))
  await writeFile(join(gateway.folder, 'key'), 'short')
  expect(await readStartError(gateway)).toContain('has 5 bytes; expected at least 32')
})
