import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runProgram } from '../../e2e/built-program.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

// A zone in which the last hours of a day in UTC are another day.
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

it('conditions count days in UTC', async () => {
  const folder = await temporaryFolder()
  const test = ['policy', 'test', '--policies', folder]
  await writeFile(join(folder, 'p.yaml'), policy)
  expect(await runProgram(test, { environment })).toMatchObject({ status: 0 })
})
