import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { runCommand } from '../support/run-command.ts'
import { startDev } from '../e2e/running-dev.ts'
import { eventually } from '../support/eventually.ts'

const dev = await startDev()
afterAll(() => dev.remove())
const store = join(dev.dataFolder, 'keys.yaml')
const files = ['--store', store, '--pepper-file', join(dev.dataFolder, 'pepper')]

async function statusWith(key: string): Promise<number> {
  const response = await dev.send('GET', '/v1/namespace/demo/list', undefined, { 'x-api-key': key })
  await response.arrayBuffer()
  return response.status
}

it('a key is created, listed, accepted by the running gateway, revoked and refused', async () => {
  await dev.send('POST', '/v1/namespace/demo/create', {})
  const key = await dev.createKey(
    'ada',
    '--group',
    'analysts',
    '--group',
    'more',
    '--description',
    'a laptop',
  )
  expect(await statusWith(key)).toBe(200)

  const listed = await runCommand(['keys', 'list', '--store', store])
  expect(listed).toMatchObject({ status: 0, messages: '' })
  expect(listed.output).toMatch(/^\S+ {2}ada {2}analysts,more {2}since \S+ {2}valid {2}a laptop\n$/)
  const [id = ''] = listed.output.split(' ')
  const inJson = await runCommand(['keys', 'list', '--store', store, '--json'])
  expect(JSON.parse(inJson.output)).toMatchObject([
    { id, principal: 'ada', groups: ['analysts', 'more'], state: 'valid', description: 'a laptop' },
  ])
  expect(inJson.output).not.toContain('hash')

  const revoked = await runCommand(['keys', 'revoke', '--store', store, id])
  expect(revoked).toMatchObject({ status: 0, output: `revoked ${id}\n` })
  await eventually(async () => expect(await statusWith(key)).toBe(401))
  expect((await runCommand(['keys', 'list', '--store', store])).output).toMatch(/ {2}revoked \S+/)
})

it('a key is printed once, alone on standard output, and stored nowhere', async () => {
  const { status, output, messages } = await runCommand(['keys', 'create', ...files, '--principal', 'grace'])
  expect(status).toBe(0)
  expect(output).toMatch(/^\S+\n$/)
  expect(messages).toContain('grace')
  const secret = output.trim()
  expect(messages).not.toContain(secret)
  expect(await readFile(store, 'utf8')).not.toContain(secret)
  expect((await runCommand(['keys', 'list', '--store', store])).output).not.toContain(secret)
})

it('a key that has already expired is not created', async () => {
  const past = ['--expires', '2020-01-31T00:00:00Z']
  const created = await runCommand(['keys', 'create', ...files, '--principal', 'old', ...past])
  expect(created).toMatchObject({ status: 2, output: '' })
  expect(created.messages).toContain('expected a time in the future')
})

it('a key is refused before its start time', async () => {
  const later = ['--not-before', '2099-01-31T00:00:00Z', '--subject', 'corp:alice']
  const made = await runCommand(['keys', 'create', ...files, '--principal', 'later', ...later])
  // The gateway has reloaded the store when it accepts a later key.
  await dev.createKey('new')
  expect(await statusWith(made.output.trim())).toBe(401)
  expect((await runCommand(['keys', 'list', '--store', store])).output).toMatch(
    /  later  -  since \S+  from 2099-01-31T00:00:00.000Z valid  for corp:alice\n/,
  )
})

it('after a rotation both keys are valid until the old one expires', async () => {
  const old = await dev.createKey('turning')
  const listed = (await runCommand(['keys', 'list', '--store', store])).output
  const id =
    listed
      .split('\n')
      .find((line) => line.includes('turning'))
      ?.split(' ')[0] ?? ''
  const rotated = await runCommand(['keys', 'rotate', ...files, '--overlap', '1h', id])
  expect(rotated.status).toBe(0)
  const key = rotated.output.trim()
  await eventually(async () => expect(await statusWith(key)).not.toBe(401))
  expect(await statusWith(old)).not.toBe(401)

  const [, next = ''] = key.split('_')
  expect(await runCommand(['keys', 'rotate', ...files, '--overlap', '0s', next])).toMatchObject({ status: 0 })
  await eventually(async () => expect(await statusWith(key)).toBe(401))
  const refused = await runCommand(['keys', 'rotate', ...files, '--overlap', '1w', id])
  expect(refused).toMatchObject({ status: 2, output: '' })
})

it('revoking a missing key fails', async () => {
  const { status, messages } = await runCommand(['keys', 'revoke', '--store', store, 'nobody'])
  expect(status).toBe(1)
  expect(messages).toContain('nobody')
})

it('no key has the name of callers without a credential', async () => {
  const created = await runCommand(['keys', 'create', ...files, '--principal', 'anonymous'])
  expect(created).toMatchObject({ status: 1, messages: expect.stringContaining('choose another one') })
})
