import { execFile } from 'node:child_process'
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startDev } from '../e2e/running-dev.ts'
import { listCommands } from '../support/code-blocks.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

it('the commands of docs/operations.md restore tables, keys and audit log', async () => {
  const page = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const folder = await temporaryFolder()
  const paths = new Map([
    ['DATA', join(folder, 'data')],
    ['RESTORED', join(folder, 'restored')],
    ['PUBLIC_KEY', join(folder, 'public-key.pem')],
    ['backup.tar.gz', join(folder, 'backup.tar.gz')],
  ])
  const commands = listCommands(page).map((line) => line.split(' '))
  const withPaths = (words: readonly string[]): string[] =>
    words.map((word) =>
      word.replace(/^(DATA|RESTORED|PUBLIC_KEY|backup\.tar\.gz)/, (name) => paths.get(name) ?? name),
    )
  expect(commands.at(-1)?.slice(0, 3)).toEqual(['catalog-gateway', 'audit', 'verify'])

  const before = await startDev({ dataFolder: withPaths(['DATA'])[0] ?? '' })
  const key = await before.createKey('ann', '--group', 'developers')
  const client = await before.remoteClient()
  await client.createTable('orders', [{ id: 1 }, { id: 2 }])
  await before.stop()
  await copyFile(join(before.auditFolder, 'seal-public-key.pem'), withPaths(['PUBLIC_KEY'])[0] ?? '')

  for (const [program = '', ...words] of commands) {
    if (program === 'catalog-gateway')
      expect(await runCommand(withPaths(words))).toMatchObject({
        status: 0,
        output: expect.stringMatching(/^good: /),
      })
    else await promisify(execFile)(program, withPaths(words))
  }
  const after = await startDev({ dataFolder: withPaths(['RESTORED'])[0] ?? '' })
  const restored = await (await after.remoteClient()).openTable('orders')
  expect(await restored.countRows()).toBe(2)
  expect((await after.send('GET', '/v1/namespace/$/list', undefined, { 'x-api-key': key })).status).not.toBe(
    401,
  )
  await after.stop()
  const table = ['--table', 'orders', '--json']
  expect((await runCommand(['audit', 'query', after.auditFolder, ...table])).output).toContain(
    '"CreateTable"',
  )
})
