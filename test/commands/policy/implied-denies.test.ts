import { expect, it } from 'vitest'
import { folderWith } from '../../policy/source/policy-folder.ts'
import { runCommand } from '../../support/run-command.ts'

const policy = (rules: string): string => `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: p }
namespace: [prod]
rules:
  - { id: all, effect: allow, subjects: { users: [al] }, operations: [all] }
${rules}`
const noViews = '  - { id: no, effect: deny, subjects: { users: [al] }, operations: [DropView] }\n'
const noSecret =
  '  - { id: no, effect: deny, subjects: { users: [al] }, operations: [query], tables: [secret] }\n'
const removal = 'p/no (p.yaml:7), which denies every operation that removes the name'
const move = 'p/no (p.yaml:7), which denies what moves its tables'

const withRules = (rules: string) => folderWith({ 'p.yaml': policy(rules) })

it.each([
  ['DropTable', noViews, removal],
  ['RenameTable', noSecret, move],
])('explain says why a deny covers %s', async (operation, rules, reason) => {
  const folder = await withRules(rules)
  const target = [operation, 'prod/secret']
  const explained = await runCommand(['policy', 'explain', '--policies', folder, '--as', 'al', ...target])
  expect(explained.output).toContain(`denied  al: ${operation} on prod/secret\n  by ${reason}\n`)
})

it('diff says why a new deny takes a permission', async () => {
  const [before, after] = [await withRules(''), await withRules(noViews)]
  const { output } = await runCommand(['policy', 'diff', before, after])
  expect(output).toContain(`after:  denied by ${removal}`)
})

it('explain and who-can take the id of a transaction', async () => {
  const folder = await withRules(noSecret.replace('query', 'DescribeTransaction'))
  const target = ['DescribeTransaction', 'prod/secret/1']
  const explained = await runCommand(['policy', 'explain', '--policies', folder, '--as', 'al', ...target])
  expect(explained.output).toContain(
    'by p/no (p.yaml:7)\n  response 404, as if it did not exist\n  facts  branch: unknown (any branch)',
  )
  const callers = await runCommand(['policy', 'who-can', '--policies', folder, ...target])
  expect(callers.output).toContain('nobody')
})
