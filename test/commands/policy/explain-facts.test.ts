import { expect, it } from 'vitest'
import { folderWith } from '../../policy/source/policy-folder.ts'
import { runCommand } from '../../support/run-command.ts'

const policies = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
namespace: []
rules:
  - id: ci
    effect: allow
    subjects: { users: [al] }
    operations: [all]
    when: branch.like("ci/*")
`

async function explain(...parameters: string[]) {
  const folder = await folderWith({ 'p.yaml': policies })
  return runCommand(['policy', 'explain', '--policies', folder, '--as', 'al', ...parameters])
}

it.for([
  [
    'a branch that is stated',
    ['InsertIntoTable', 'a/t', '--fact', 'branch=ci/7'],
    'mode: "", branch: "ci/7"',
  ],
  ['a whole table', ['DropTable', 'a/t'], 'branch: unknown (every branch)'],
  ['a tag', ['DescribeTable', 'a/t', '--fact', 'tag=v1'], 'branch: unknown (that of the tag), tag: "v1"'],
  ['a mode', ['InsertIntoTable', 'a/t', '--fact', 'mode=Overwrite'], 'mode: "overwrite"'],
  ['a map', ['UpdateTable', 'a/t', '--fact', 'properties.k=v'], 'properties: {"k":"v"}'],
  ['an operation without facts', ['ListTables', 'a'], 'none'],
] as const)('explain shows the facts as they were decided: %s', async ([, parameters, facts]) => {
  const { status, output } = await explain(...parameters)
  expect(status).toBe(0)
  const line = /^ {2}facts {2}(.*)$/m.exec(output)?.[1]
  expect(line).toContain(facts)
})

it('JSON output has the facts with their values, or the reason why one is missing', async () => {
  const { output } = await explain('RenameTable', 'a/t', '--fact', 'destination=b/u', '--json')
  expect((JSON.parse(output) as { facts: unknown }).facts).toEqual([
    { name: 'branch', unknown: 'every branch' },
    { name: 'destination', value: ['b', 'u'] },
  ])
})

it('a fact that requests for the operation do not state is bad usage', async () => {
  const { status, output, messages } = await explain('DropTable', 'a/t', '--fact', 'branch=ci/7')
  expect({ status, output }).toEqual({ status: 2, output: '' })
  expect(messages).toContain('--fact branch: requests for DropTable state no facts')
})

it('explain decides what a request of these facts requires besides', async () => {
  const insert = ['InsertIntoTable', 'a/t', '--fact', 'branch=ci/7']
  expect((await explain(...insert)).output).not.toContain('also requires')
  const { output } = await explain(...insert, '--fact', 'mode=overwrite')
  const rule = 'p/ci (p.yaml:6)'
  expect(output).toContain(`also requires OverwriteTable on a/t (mode=overwrite): allowed by ${rule}\n`)
  const moved = await explain('RenameTable', 'a/t', '--fact', 'destination=b/u')
  expect(moved.output).toContain(
    'also requires CreateTable on b/u (the destination): denied, as no rule allows it\n',
  )
  const dropped = await explain('DropNamespace', 'a', '--fact', 'behavior=cascade', '--json')
  const { requires } = JSON.parse(dropped.output) as { requires: unknown[] }
  expect(requires[0]).toMatchObject({
    permission: 'DropTable',
    id: ['a'],
    includesSubtree: true,
    decision: { allowed: false },
  })
})
