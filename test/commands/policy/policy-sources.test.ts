import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { runCommand } from '../../support/run-command.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it.each([
  ['lint', /expected --policies <dir>, --kubernetes or both/],
  ['who-can DropTable a/b', /expected --policies <dir>, --kubernetes or both/],
  ['diff a', /expected two folders, the current and the candidate policies; or --kubernetes and one/],
  ['diff a b c', /expected two folders/],
  ['diff a b --policies c', /expected --kubernetes with --policies/],
  ['diff a b --apply', /expected --kubernetes with --apply/],
  ['diff --kubernetes a b', /expected one folder with --kubernetes: the candidates/],
  ['diff a b --kubectl kubectl', /expected --kubernetes with --kubectl/],
  ['lint --policies a --context b', /expected --kubernetes with --context/],
])('`policy %s` is bad usage', async (line, message) => {
  const { status, output, messages } = await runCommand(['policy', ...line.split(' ')])
  expect({ status, output }).toEqual({ status: 2, output: '' })
  expect(messages).toMatch(message)
})

it('a missing kubectl is reported', async () => {
  const kubectl = join(await temporaryFolder(), 'kubectl')
  const { status, output, messages } = await runCommand([
    'policy',
    'lint',
    '--kubernetes',
    '--kubectl',
    kubectl,
  ])
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(/kubectl was not found; install kubectl, or give its path with --kubectl/)
})

it('another program than kubectl is reported', async () => {
  const { status, messages } = await runCommand(['policy', 'lint', '--kubernetes', '--kubectl', 'echo'])
  expect(status).toBe(1)
  expect(messages).toMatch(/printed something else than a list of resources; is --kubectl its path\?/)
})

it('settings without Kubernetes namespaces use no resources', async () => {
  const config = join(await temporaryFolder(), 'gateway.yaml')
  const settings = {
    upstream: { url: 'http://127.0.0.1:1' },
    identity: { anonymous: true },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
  }
  await writeFile(config, stringify(settings))
  const { status, messages } = await runCommand(['policy', 'lint', '--kubernetes', '--config', config])
  expect(status).toBe(1)
  expect(messages).toMatch(/contain no policies\.kubernetes, so their gateway uses no resources/)
})
