import { expect, it } from 'vitest'
import { folderWith } from '../../policy/source/policy-folder.ts'
import { runCommand } from '../../support/run-command.ts'

const policies = `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: crm }
namespace: [crm]
tags:
  tables:
    leads: { columns: { id: number, email: { type: text, tags: [pii] } } }
restrict:
  - { id: no-pii, subjects: { groups: [analysts], users: [cy] }, tables: [leads], columns: { without: [pii] } }
  - { id: only-pii, subjects: { users: [cy] }, tables: [leads], columns: { email: text } }
rules:
  - { id: reads, effect: allow, subjects: { groups: [analysts, office], users: [cy] }, operations: [QueryTable] }
`

it('lists the callers of a table: who sees tagged columns, and who sees the table without them', async () => {
  const folder = await folderWith({ 'p.yaml': policies })
  const whoCan = ['policy', 'who-can', '--policies', folder, 'QueryTable', 'crm/leads']
  expect((await runCommand(whoCan)).output).toBe(`QueryTable on crm/leads:
  sees email:
    group office  by crm/reads (p.yaml:12)
      restricted by crm/no-pii (p.yaml:9) if also user cy, group analysts: columns id number; rows all
      restricted by crm/only-pii (p.yaml:10) if also user cy: columns email text; rows all
  sees the table without email:
    group analysts  by crm/reads (p.yaml:12)
      restricted by crm/no-pii (p.yaml:9): columns id number; rows all
      restricted by crm/only-pii (p.yaml:10) if also user cy: columns email text; rows all
  sees nothing:
    user cy  by crm/reads (p.yaml:12)
      restricted by crm/no-pii (p.yaml:9): columns id number; rows all
      restricted by crm/only-pii (p.yaml:10): columns email text; rows all
`)
  expect(JSON.parse((await runCommand([...whoCan, '--json'])).output)).toMatchObject({
    columns: ['email'],
    allowed: [
      { subject: { kind: 'user', name: 'cy' }, sees: 'nothing' },
      { subject: { kind: 'group', name: 'analysts' }, sees: 'part' },
      { subject: { kind: 'group', name: 'office' }, sees: 'all' },
    ],
  })
})
