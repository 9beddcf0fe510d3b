import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { runCommand } from '../../support/run-command.ts'
import { writeFiles } from '../../policy/source/policy-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

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
})
