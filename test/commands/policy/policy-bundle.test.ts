import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../support/run-command.ts'
import { readerPolicy, writeFiles } from '../../policy/source/policy-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

it('the documented commands sign and verify policies, and detect a changed bundle', async () => {
  const folder = await temporaryFolder()
  await writeFiles(join(folder, 'policies'), { 'a.yaml': readerPolicy('a', 'alice') })
  const at = (name: string): string => join(folder, name)
  const page = await readFile(new URL('../../../policies/README.md', import.meta.url), 'utf8')
  const commands = /```sh\n(openssl[^`]*)```/.exec(page)?.[1]?.trim().split('\n') ?? []
  expect(commands).toHaveLength(4)
  for (const command of commands.slice(0, 2))
    execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' })
  const run = (command = '') => runCommand(command.split(' ').slice(1).map(absolute))
  const absolute = (word: string): string => (/^(?:policies|bundle-key)/.test(word) ? at(word) : word)

  const signed = await run(commands[2])
  expect(signed).toMatchObject({ status: 0, messages: '' })
  expect(signed.output).toMatch(
    /^wrote .+policies\.bundle: 1 policy, revision [0-9a-f]{64}, serial 1, key [0-9a-f]{16}\n$/,
  )
  const verified = await run(commands[3])
  expect(verified).toMatchObject({ status: 0, messages: '' })
  expect(verified.output).toMatch(
    /^valid: 1 policy, revision [0-9a-f]{64}, serial 1, key [0-9a-f]{16}\n {2}a\.yaml\n$/,
  )

  await writeFile(
    at('policies.bundle'),
    (await readFile(at('policies.bundle'), 'utf8')).replace('alice', 'robin'),
  )
  const changed = await run(commands[3])
  expect(changed).toMatchObject({ status: 1, output: '' })
  expect(changed.messages).toContain('has an invalid signature')
})
