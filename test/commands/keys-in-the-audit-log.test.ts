import { userInfo } from 'node:os'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { runCommand } from '../support/run-command.ts'
import { startDev } from '../e2e/running-dev.ts'
import { eventually } from '../support/eventually.ts'

const dev = await startDev()
afterAll(() => dev.remove())
const storeFile = join(dev.dataFolder, 'keys.yaml')
const store = ['--store', storeFile]
const withPepper = [...store, '--pepper-file', join(dev.dataFolder, 'pepper')]

async function keys(...parameters: readonly string[]): Promise<string> {
  const end = await runCommand(['keys', ...parameters])
  expect(end.status, end.messages).toBe(0)
  return end.output.trim()
}

/** Who changes the keys: the user of the operating system. */
const me = userInfo().username

async function idOfNewest(): Promise<string> {
  const lines = (await keys('list', ...store)).split('\n')
  return lines.at(-1)?.split(' ')[0] ?? ''
}

const query = (...options: readonly string[]) =>
  runCommand(['audit', 'query', join(dev.dataFolder, 'audit'), ...options])

/** The changes of the keys of ada in the log of the running gateway. */
async function listChanges(): Promise<readonly unknown[]> {
  const { output } = await query('--principal', 'ada', '--json')
  const records = output.split('\n').slice(0, -1)
  return records.flatMap((line) => (JSON.parse(line) as { keys?: readonly unknown[] }).keys ?? [])
}

it('creation, rotation, revocation and removal of keys are records with key id and actor', async () => {
  const ada = { principal: 'ada' }
  const key = await keys('create', ...withPepper, '--principal', 'ada')
  const first = await idOfNewest()
  const expected: object[] = [{ change: 'created', key: first, ...ada, by: me }]
  await eventually(async () => expect(await listChanges()).toEqual(expected))

  await keys('rotate', ...withPepper, first)
  const second = await idOfNewest()
  expected.push({ change: 'changed', key: first, ...ada, members: ['expiresAt'] })
  expected.push({ change: 'rotated', key: second, ...ada, by: me, replaces: first })
  await eventually(async () => expect(await listChanges()).toEqual(expected))

  await keys('revoke', ...store, second)
  expected.push({ change: 'revoked', key: second, ...ada, by: me })
  await eventually(async () => expect(await listChanges()).toEqual(expected))

  const text = await readFile(storeFile, 'utf8')
  await writeFile(storeFile, 'keys: []\n')
  expected.push({ change: 'removed', key: first, ...ada }, { change: 'removed', key: second, ...ada })
  await eventually(async () => expect(await listChanges()).toEqual(expected))

  const { output } = await query('--principal', me)
  expect(output).toContain(`keys api-keys; revoked ${second} of ada by ${me}\n`)
  const all = await query('--json')
  expect(all.output).not.toContain(key)
  for (const [, hash = ''] of text.matchAll(/hash: (\w{64})/g)) expect(all.output).not.toContain(hash)
})
