import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { runCommand } from '../../support/run-command.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const policy = {
  apiVersion: 'catalog-gateway/v1',
  kind: 'AccessPolicy',
  metadata: { name: 'sales' },
  namespace: ['sales'],
  rules: [
    { id: 'compact', effect: 'allow', subjects: { users: ['sam'] }, operations: ['read', 'CompactTable'] },
  ],
  tests: [{ as: { user: 'sam' }, operations: ['CompactTable'], table: ['sales', 'orders'], expect: 'allow' }],
}

/** Writes the policy, and settings that declare its operation. */
async function makeFiles() {
  const folder = await temporaryFolder()
  const [config, policies] = [join(folder, 'gateway.yaml'), join(folder, 'policies')]
  const settings = {
    upstream: {
      url: 'http://127.0.0.1:1',
      extraOperations: [{ name: 'CompactTable', path: '/v1/table/{id}/compact' }],
    },
    identity: { anonymous: true },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
  }
  await mkdir(policies)
  await writeFile(config, stringify(settings))
  await writeFile(join(policies, 'sales.yaml'), stringify(policy))
  return { config, policies }
}

it.for<readonly [command: string, parameters: readonly string[], output: RegExp]>([
  ['test', [], /1 of 1 tests passed/],
  ['lint', [], /0 errors/],
  ['diff', [], /no decision changes/],
  ['who-can', ['CompactTable', 'sales/orders'], /user sam/],
  ['what-can', ['--as', 'sam'], /read, CompactTable/],
  [
    'explain',
    ['--as', 'sam', 'CompactTable', 'sales/orders'],
    /^allowed {2}sam: CompactTable on sales\/orders/,
  ],
])(
  '`policy %s` accepts extra operations of the settings, and only with them',
  async ([name, more, output]) => {
    const { config, policies } = await makeFiles()
    const source = name === 'diff' ? [policies, policies] : ['--policies', policies]
    const parameters = ['policy', name, ...source, ...more]
    const [run, without] = await Promise.all([
      runCommand([...parameters, '--config', config]),
      runCommand(parameters),
    ])
    expect(run).toMatchObject({ status: 0, output: expect.stringMatching(output) as string })
    expect(without.status).not.toBe(0)
    expect(without.messages).toMatch(/unknown operation (or group )?"CompactTable"/)
  },
)

it('`check` accepts them, too', async () => {
  const { config } = await makeFiles()
  expect(await runCommand(['check', '--config', config])).toMatchObject({
    status: 0,
    output: expect.stringContaining('name: CompactTable') as string,
  })
})
