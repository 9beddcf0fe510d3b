import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { chmod, open, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
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

it('a bundle replaces the previous one as a whole, and keeps its mode', async () => {
  const folder = await temporaryFolder()
  await writeFiles(join(folder, 'policies'), { 'a.yaml': readerPolicy('a', 'alice') })
  const [key, out] = [join(folder, 'key.pem'), join(folder, 'policies.bundle')]
  await writeFile(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const policies = join(folder, 'policies')
  const sign = (serial: string, file = out) =>
    runCommand(['policy', 'bundle', '--policies', policies, '--key', key, '--serial', serial, '--out', file])
  await sign('1')
  const first = await readFile(out, 'utf8')
  const mode = async () => ((await stat(out)).mode & 0o777).toString(8)
  expect(await mode()).toBe((0o644 & ~process.umask()).toString(8))
  await chmod(out, 0o640)
  const reader = await open(out)
  onTestFinished(() => reader.close())
  expect(await sign('2')).toMatchObject({ status: 0 })
  expect(await reader.readFile('utf8')).toBe(first)
  expect(await readFile(out, 'utf8')).not.toBe(first)
  expect(await mode()).toBe('640')
  expect((await sign('3', policies)).messages).toContain(`${policies} is not a regular file`)
})
