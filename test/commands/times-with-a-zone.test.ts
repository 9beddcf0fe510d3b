import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runProgram } from '../e2e/built-program.ts'
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

it('conditions count days in UTC', async () => {
  const folder = await temporaryFolder()
  const test = ['policy', 'test', '--policies', folder]
  await writeFile(join(folder, 'p.yaml'), policy)
  expect(await runProgram(test, { environment })).toMatchObject({ status: 0 })
})
