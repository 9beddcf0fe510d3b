import { expect, it } from 'vitest'
import { folderWith } from '../policy/source/policy-folder.ts'
import { runCommand } from '../support/run-command.ts'

const policies = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: hr }
namespace: [hr]
rules:
  - { id: pay, effect: allow, subjects: { users: [al] }, operations: [read], tables: [salaries] }
`

it.each(['hr/salaries', 'hr$salaries', '["hr", "salaries"]'])('commands read %s as one table', async (id) => {
  const folder = await folderWith({ 'p.yaml': policies })
  const policy = (command: string, ...parameters: string[]) =>
    runCommand(['policy', command, '--policies', folder, ...parameters])
  const whoCan = await policy('who-can', 'QueryTable', id)
  expect(whoCan).toMatchObject({ status: 0 })
  expect(whoCan.output).toMatch(/^QueryTable on hr\/salaries:\n.*user al/)
  expect((await policy('explain', '--as', 'al', 'QueryTable', id)).output).toContain(
    'QueryTable on hr/salaries',
  )
  const fact = `destination=${id}`
  const { output } = await policy('explain', '--as', 'al', 'RenameTable', 'hr/t', '--fact', fact, '--json')
  expect(JSON.parse(output)).toMatchObject({
    facts: expect.arrayContaining([{ name: 'destination', value: ['hr', 'salaries'] }]),
  })
})
