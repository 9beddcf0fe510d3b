import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { runCommand } from '../support/run-command.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'

const policies = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: hr }
namespace: [hr]
rules:
  - { id: pay, effect: allow, subjects: { users: [al] }, operations: [read], tables: [salaries] }
`
let folder = ''

beforeAll(async () => {
  folder = await makeTemporaryFolder()
  await writeFile(join(folder, 'p.yaml'), policies)
  return () => removeFolder(folder)
})

const policy = (command: string, ...parameters: string[]) =>
  runCommand(['policy', command, '--policies', folder, ...parameters])

it.each(['hr/salaries', 'hr$salaries', '["hr", "salaries"]'])('commands read %s as one table', async (id) => {
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

it('commands refuse an id that may be read in two ways', async () => {
  const id = 'hr/staff$salaries'
  const message = 'has both "/" and "$"; expected hr/staff/salaries, or ["hr", "staff$salaries"]'
  const ends = [
    await policy('who-can', 'QueryTable', id),
    await policy('explain', '--as', 'al', 'QueryTable', id),
    await runCommand(['audit', 'query', folder, '--table', id]),
    await runCommand(['audit', 'compare', '--config', 'gateway.yaml', '--namespace', id]),
  ]
  for (const end of ends)
    expect(end).toMatchObject({ status: 2, output: '', messages: expect.stringContaining(message) })
})
