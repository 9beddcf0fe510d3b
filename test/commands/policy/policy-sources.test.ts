import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { stringify } from 'yaml'
import { runCommand } from '../../support/run-command.ts'
import { writeFiles } from '../../policy/source/policy-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { fakeKubectl } from './fake-cluster.ts'

it.each([
  ['lint', /expected --policies <dir>, --kubernetes or both/],
  ['who-can DropTable a/b', /expected --policies <dir>, --kubernetes or both/],
  ['diff a', /expected two folders, the current and the candidate policies; or --kubernetes and one/],
  ['diff a b c', /expected two folders/],
  ['diff a b --apply', /expected --kubernetes with --apply/],
  ['diff --kubernetes a b', /expected one folder with --kubernetes: the candidates/],
])('`policy %s` is bad usage', async (line, message) => {
  const { status, output, messages } = await runCommand(['policy', ...line.split(' ')])
  expect({ status, output }).toEqual({ status: 2, output: '' })
  expect(messages).toMatch(message)
})

const settingsOf = (folder: string | readonly string[]): string =>
  stringify({
    upstream: { url: 'http://127.0.0.1:1' },
    identity: { anonymous: true },
    policies: { folder },
    audit: { folder: 'audit' },
  })

const reader = (name: string, rest: string): string => `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: ${name} }
namespace: []
${rest}
`
const tags = reader('tags', 'tags: { namespace: [open] }')
const uses = reader(
  'uses',
  `rules: [{ id: r, effect: allow, subjects: { any: true }, operations: [read], when: '"open" in tags' }]`,
)

it('several folders are one tree: those of --policies, or else of the settings', async () => {
  const folder = await temporaryFolder()
  const [one, two] = [join(folder, 'one'), join(folder, 'two')]
  const config = join(folder, 'gateway.yaml')
  await writeFiles(folder, {
    'one/a.yaml': tags,
    'two/a.yaml': uses,
    'gateway.yaml': settingsOf(['one', 'two']),
  })
  const both = ['--policies', one, '--policies', two]
  for (const source of [both, ['--config', config], ['--config', config, ...both]]) {
    const { status, output } = await runCommand(['policy', 'who-can', ...source, 'ListTables', '/'])
    expect([status, output]).toEqual([0, expect.stringContaining('uses/r (two/a.yaml:5)')])
  }
  const { status, messages } = await runCommand(['policy', 'lint', '--policies', two])
  expect([status, messages]).toEqual([1, expect.stringContaining('names the tag "open"')])
  const diff = await runCommand(['policy', 'diff', '--policies', one, two, two])
  expect(diff).toMatchObject({ status: 0, output: 'no decision changes\n' })
})

it('a missing kubectl is reported', async () => {
  vi.stubEnv('PATH', await temporaryFolder())
  onTestFinished(() => void vi.unstubAllEnvs())
  const { status, output, messages } = await runCommand(['policy', 'lint', '--kubernetes'])
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(/kubectl cannot be run \(ENOENT\); install it in the PATH/)
})

it('another program than kubectl is reported', async () => {
  await fakeKubectl('echo something')
  const { status, messages } = await runCommand(['policy', 'lint', '--kubernetes'])
  expect(status).toBe(1)
  expect(messages).toMatch(/printed something else than a list of resources/)
})

it('settings without Kubernetes namespaces use no resources', async () => {
  const config = join(await temporaryFolder(), 'gateway.yaml')
  await writeFile(config, settingsOf('policies'))
  const { status, messages } = await runCommand(['policy', 'lint', '--kubernetes', '--config', config])
  expect(status).toBe(1)
  expect(messages).toMatch(/contain no policies\.kubernetes, so their gateway uses no resources/)
})
