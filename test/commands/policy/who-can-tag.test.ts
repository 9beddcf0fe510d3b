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
    calls: { tags: [pii], columns: { id: number } }
    prices: { columns: { id: number } }
restrict:
  - { id: no-pii, subjects: { groups: [analysts], users: [cy] }, tables: [leads, prices], columns: { without: [pii] } }
  - { id: only-pii, subjects: { users: [cy] }, tables: [leads], columns: { email: text } }
rules:
  - { id: reads, effect: allow, subjects: { groups: [analysts, office], users: [cy] }, operations: [QueryTable] }
---
apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: hr }
namespace: [hr]
tags: { namespace: [pii] }
rules:
  - { id: payslips, effect: allow, subjects: { users: [al] }, operations: [QueryTable], tables: [payslips] }
`

async function whoCan(...parameters: readonly string[]) {
  const folder = await folderWith({ 'p.yaml': policies })
  return runCommand(['policy', 'who-can', '--policies', folder, ...parameters])
}

it('lists the callers of all that has a tag: who sees tagged columns, and who sees the table without them', async () => {
  expect((await whoCan('--tag', 'pii', 'QueryTable')).output).toBe(`QueryTable on crm/leads (email):
  sees email:
    group office  by crm/reads (p.yaml:14)
      restricted by crm/no-pii (p.yaml:11) if also user cy, group analysts: columns id number; rows all
      restricted by crm/only-pii (p.yaml:12) if also user cy: columns email text; rows all
  sees the table without email:
    group analysts  by crm/reads (p.yaml:14)
      restricted by crm/no-pii (p.yaml:11): columns id number; rows all
      restricted by crm/only-pii (p.yaml:12) if also user cy: columns email text; rows all
  sees nothing:
    user cy  by crm/reads (p.yaml:14)
      restricted by crm/no-pii (p.yaml:11): columns id number; rows all
      restricted by crm/only-pii (p.yaml:12): columns email text; rows all
QueryTable on crm/calls:
  user cy         by crm/reads (p.yaml:14)
  group analysts  by crm/reads (p.yaml:14)
  group office    by crm/reads (p.yaml:14)
QueryTable on hr and beneath: nobody
QueryTable on hr/payslips:
  user al  by hr/payslips (p.yaml:22)
`)
})

it('prints them as JSON', async () => {
  const [leads] = JSON.parse((await whoCan('--tag', 'pii', 'QueryTable', '--json')).output) as unknown[]
  expect(leads).toMatchObject({
    namespace: ['crm'],
    table: 'leads',
    columns: ['email'],
    allowed: [
      { subject: { kind: 'user', name: 'cy' }, sees: 'nothing' },
      { subject: { kind: 'group', name: 'analysts' }, sees: 'part' },
      { subject: { kind: 'group', name: 'office' }, sees: 'all' },
    ],
  })
})

it.for<[what: string, parameters: readonly string[], error: string]>([
  ['a tag that nothing has', ['--tag', 'pi', 'QueryTable'], 'no policy declares the tag "pi"'],
  ['a tag and an id', ['--tag', 'pii', 'QueryTable', 'crm/leads'], 'expected either an id or --tag <tag>'],
  ['neither', ['QueryTable'], 'expected either an id or --tag <tag>'],
])('refuses %s', async ([, parameters, error]) => {
  const { status, messages } = await whoCan(...parameters)
  expect(status).toBe(2)
  expect(messages).toContain(error)
})
