import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runProgram } from '../e2e/built-program.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

// A zone in which a time without zone would be another one, and another day in the last hours of one in UTC.
const environment = { TZ: 'Europe/Berlin' }

const policy = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
namespace: []
rules:
  - { id: r, effect: allow, subjects: { any: true }, operations: [read], when: 'now.getDate() == 30' }
tests:
  - { operations: [DescribeTable], table: [a, t], given: { now: '2026-06-30T23:00:00Z' }, expect: allow }
`

it('every command refuses a time without a zone and says why', async () => {
  const time = '2027-01-31T10:00:00'
  const key = ['--store', 'a', '--pepper-file', 'b', '--principal', 'c']
  for (const command of [
    ['keys', 'create', ...key, '--expires', time],
    ['keys', 'create', ...key, '--not-before', time],
    ['audit', 'query', 'folder', '--since', time],
    ['audit', 'query', 'folder', '--until', time],
    ['policy', 'replay', '--audit', 'a', '--candidate', 'b', '--since', time],
    ['policy', 'explain', 'folder', '--fact', `now=${time}`],
  ]) {
    const { status, messages } = await runCommand(command)
    expect(messages).toContain('it has no zone; expected for example 2027-01-31T10:00:00Z')
    expect(status).toBe(2)
  }
})

it('the expiry of a key is that of its time with zone', async () => {
  const folder = await temporaryFolder()
  const store = join(folder, 'keys.yaml')
  const files = ['--store', store, '--pepper-file', join(folder, 'pepper'), '--principal', 'ada']
  const expires = ['--expires', '2099-01-31T10:00:00+02:00']
  expect(await runProgram(['keys', 'create', ...files, ...expires], { environment })).toMatchObject({
    status: 0,
  })
  expect(await readFile(store, 'utf8')).toContain('"expiresAt":"2099-01-31T08:00:00.000Z"')
})

it('an overlap of keys is at most ten years', async () => {
  for (const overlap of ['9999d', '1 fortnight', '-1h']) {
    const rotate = ['keys', 'rotate', 'id', '--store', 'a', '--pepper-file', 'b', `--overlap=${overlap}`]
    const { status, messages } = await runCommand(rotate)
    expect(messages).toContain('expected a duration such as 30m, 12h or 7d, of at most 3650d')
    expect(status).toBe(2)
  }
})

it('conditions count days in UTC', async () => {
  const folder = await temporaryFolder()
  const test = ['policy', 'test', '--policies', folder]
  await writeFile(join(folder, 'p.yaml'), policy)
  expect(await runProgram(test, { environment })).toMatchObject({ status: 0 })
})
