import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runProgram } from '../e2e/built-program.ts'
import { eventually, startDev } from '../e2e/running-dev.ts'

const dev = await startDev()
afterAll(() => dev.remove())
const store = join(dev.dataFolder, 'keys.yaml')

async function statusWith(key: string): Promise<number> {
  const answer = await dev.send('GET', '/v1/namespace/demo/list', undefined, { 'x-api-key': key })
  await answer.arrayBuffer()
  return answer.status
}

test('a key is created, listed, accepted by the running gateway, revoked and refused', async () => {
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

  const listed = await runProgram(['keys', 'list', '--store', store])
  expect(listed).toMatchObject({ status: 0, messages: '' })
  expect(listed.output).toMatch(/^\S+ {2}ada {2}analysts,more {2}since \S+ {2}valid {2}a laptop\n$/)
  const [id = ''] = listed.output.split(' ')

  const revoked = await runProgram(['keys', 'revoke', '--store', store, id])
  expect(revoked).toMatchObject({ status: 0, output: `revoked ${id}\n` })
  await eventually(async () => expect(await statusWith(key)).toBe(401))
  expect((await runProgram(['keys', 'list', '--store', store])).output).toMatch(/ {2}revoked \S+/)
})

test('a key is printed once, alone on standard output, and stands nowhere', async () => {
  const files = ['--store', store, '--pepper-file', join(dev.dataFolder, 'pepper')]
  const { status, output, messages } = await runProgram(['keys', 'create', ...files, '--principal', 'grace'])
  expect(status).toBe(0)
  expect(output).toMatch(/^\S+\n$/)
  expect(messages).toContain('grace')
  const secret = output.trim()
  expect(messages).not.toContain(secret)
  expect(await readFile(store, 'utf8')).not.toContain(secret)
  expect((await runProgram(['keys', 'list', '--store', store])).output).not.toContain(secret)
})

test('a key that has expired is refused', async () => {
  const files = ['--store', store, '--pepper-file', join(dev.dataFolder, 'pepper')]
  const past = ['--expires', '2020-01-31T00:00:00Z']
  const expired = await runProgram(['keys', 'create', ...files, '--principal', 'old', ...past])
  // The gateway has read the store again when it knows a key that was made later.
  await dev.createKey('new')
  expect(await statusWith(expired.output.trim())).toBe(401)
})

test('a key that is not there is not revoked', async () => {
  const { status, messages } = await runProgram(['keys', 'revoke', '--store', store, 'nobody'])
  expect(status).toBe(1)
  expect(messages).toContain('nobody')
})
