import { expect, it } from 'vitest'
import { folderWith } from '../../policy/source/policy-folder.ts'
import { runCommand } from '../../support/run-command.ts'

const restriction = `    - id: eu
      subjects: { groups: [analysts], except: { groups: [office] } }
      tables: [customers]
      columns: { id: number, name: text }
      rows: region = 'EU' and tenant in $principal.claims.tenants
`
const noOffice = restriction.replace(', except: { groups: [office] }', '')
const crm = (restrictions: string): string => `apiVersion: catalog-gateway/v1
kind: AccessPolicy
metadata: { name: crm }
namespace: [crm]
rules:
  - { id: reads, effect: allow, subjects: { groups: [analysts] }, operations: [QueryTable, CountTableRows, DescribeTable, InsertIntoTable] }
restrict:
${restrictions}`

const withPolicy = (text: string) => folderWith({ 'crm.yaml': text })
const withRestrictions = (restrictions: string) => withPolicy(crm(restrictions))

async function explain(...parameters: string[]): Promise<string> {
  const caller = ['--as', 'ann', '--group', 'analysts', '--claim', 'tenants=["t1"]']
  const folder = await withRestrictions(restriction)
  return (await runCommand(['policy', 'explain', '--policies', folder, ...caller, ...parameters])).output
}

const remains = `  by crm/reads (crm.yaml:6)
  restricted by crm/eu (crm.yaml:8)
    columns  id number, name text
    rows     ((\`region\` = 'EU') AND (\`tenant\` IN ('t1')))
`

it.for([
  ['a query', 'QueryTable', remains],
  ['a count', 'CountTableRows', remains],
  ['a description', 'DescribeTable', remains],
  ['a change', 'InsertIntoTable', 'by crm/eu (crm.yaml:8), which leaves only reading a part of its tables\n'],
] as const)('explain shows what a restriction leaves: %s', async ([, operation, text]) => {
  expect(await explain(operation, 'crm/customers')).toContain(text)
})

it('explain prints the restriction as JSON', async () => {
  expect(JSON.parse(await explain('QueryTable', 'crm/customers', '--json'))).toMatchObject({
    restriction: {
      columns: { id: 'number', name: 'text' },
      rows: "((`region` = 'EU') AND (`tenant` IN ('t1')))",
      rules: [{ policy: 'crm', rule: 'eu', file: 'crm.yaml', line: 8 }],
    },
  })
})

const left =
  ": columns id number, name text; rows ((`region` = 'EU') AND (`tenant` IN ($principal.claims.tenants)))"

it.for([
  ['a query', ['QueryTable', 'crm/customers'], true],
  ['another table', ['QueryTable', 'crm/orders'], false],
] as const)('who-can marks callers as restricted: %s', async ([, parameters, isRestricted]) => {
  const folder = await withRestrictions(restriction)
  const { output } = await runCommand(['policy', 'who-can', '--policies', folder, ...parameters])
  const line = `      restricted by crm/eu (crm.yaml:8) unless also group office${left}\n`
  expect(output).toContain('group analysts')
  expect(output.includes(line), output).toBe(isRestricted)
  expect(output.includes('  sees a part of the table:\n'), output).toBe(isRestricted)
})

it('what-can marks permissions as restricted', async () => {
  const folder = await withRestrictions(restriction)
  const whatCan = ['policy', 'what-can', '--policies', folder, '--as', 'ann', '--group', 'analysts']
  const { output } = await runCommand(whatCan)
  expect(output).toContain(
    `    restricted by crm/eu (crm.yaml:8) on the tables customers in this namespace${left}\n`,
  )
  expect((await runCommand([...whatCan, '--group', 'office'])).output).not.toContain('restricted by')
})

it('who-can and what-can print restrictions as JSON', async () => {
  const folder = await withRestrictions(restriction)
  const columns = { id: 'number', name: 'text' }
  const restrictedBy = [{ rule: { policy: 'crm', rule: 'eu' }, columns, rows: expect.any(String) as unknown }]
  const callers = await runCommand([
    'policy',
    'who-can',
    '--policies',
    folder,
    'QueryTable',
    'crm/customers',
    '--json',
  ])
  expect(JSON.parse(callers.output)).toMatchObject({ allowed: [{ restrictedBy }] })
  const caller = ['--as', 'ann', '--group', 'analysts', '--json']
  const permissions = await runCommand(['policy', 'what-can', '--policies', folder, ...caller])
  expect(JSON.parse(permissions.output)).toMatchObject([{ permits: [{ restrictedBy }] }])
})

const rows = / +rows: .*\n/
const such = 'tables in crm such as'

it.for<[string, string, string, string, readonly string[]]>([
  [
    'columns and rows',
    restriction,
    restriction.replace('name: text', 'mail: text').replace('EU', 'US'),
    'group analysts',
    [`changes  ${such} customers`, 'gains  columns mail text', 'loses  columns name text'],
  ],
  [
    'the type of a column',
    restriction,
    restriction.replace('id: number', 'id: text'),
    'group analysts',
    [`changes  ${such} customers`, 'gains  columns id text', 'loses  columns id number'],
  ],
  ['all rows', restriction, restriction.replace(rows, ''), 'group analysts', [`gains  ${such} customers`]],
  ['a condition', restriction.replace(rows, ''), restriction, 'group analysts', [`loses  ${such} customers`]],
  [
    'callers',
    restriction,
    noOffice,
    'callers that are in group analysts and in group office',
    [`loses  ${such} customers`],
  ],
  [
    'tables',
    restriction,
    restriction.replace('[customers]', '[customers, leads]'),
    'group analysts',
    [`loses  ${such} leads`],
  ],
])('diff reports a changed restriction: %s', async ([, before, after, caller, changes]) => {
  const folders = [await withRestrictions(before), await withRestrictions(after)]
  const { output, status } = await runCommand(['policy', 'diff', '--fail-on-change', ...folders])
  const [, first, read] = output
    .split(/^ {2}(?=\S.*QueryTable)/m)
    .flatMap((part) => part.split('    before: '))
  expect(output).toContain(`${caller}\n`)
  expect(
    `${first}`
      .replace(/: DescribeTable, .*$/m, '')
      .trim()
      .split(/\n +/),
  ).toEqual(changes)
  expect(read).toMatch(/^allowed by crm\/reads/)
  expect(status).toBe(1)
})

it.for([
  ['its layout', restriction.replace("region = 'EU' and", "(region='EU')   AND")],
  ['its id', restriction.replace('id: eu', 'id: europe')],
  ['the order of columns', restriction.replace('id: number, name: text', 'name: text, id: number')],
] as const)('diff reports nothing if a restriction only changes %s', async ([, after]) => {
  const folders = [await withRestrictions(restriction), await withRestrictions(after)]
  expect(await runCommand(['policy', 'diff', '--fail-on-change', ...folders])).toMatchObject({
    status: 0,
    output: 'no decision changes\n',
  })
})

const byTags = crm(`    - id: public
      subjects: { groups: [analysts] }
      tables: ['*']
      columns: { without: [pii] }
tags:
  tables:
    customers: { columns: { id: number, ssn: { type: text, tags: [pii] } } }
`)
const orders = '    orders: { columns: { id: number, mail: { type: text, tags: [pii] } } }\n'

function printChange(direction: string, before: string, after: string): string {
  return (
    `group analysts\n  ${direction}  ${such} orders: DescribeTable, QueryTable, CountTableRows\n` +
    `    ${direction}  columns id number\n    before: ${before}\n    after:  ${after}\n`
  )
}

it('diff compares a table whose columns are declared on one side only', async () => {
  const folders = [await withPolicy(byTags), await withPolicy(byTags + orders)]
  const reads = 'allowed by crm/reads (crm.yaml:6), restricted by crm/public (crm.yaml:8)'
  const [none, id] = [`${reads}: columns none; rows all`, `${reads}: columns id number; rows all`]
  expect((await runCommand(['policy', 'diff', ...folders])).output).toBe(printChange('gains', none, id))
  expect((await runCommand(['policy', 'diff', ...folders.toReversed()])).output).toBe(
    printChange('loses', id, none),
  )
})

const sent = "((`region` = 'EU') AND (`tenant` IN ('t1')))"

async function runPolicyTest(table: string, expected: string) {
  const caller = '{ groups: [analysts], claims: { tenants: [t1] } }'
  const test = `tests: [{ as: ${caller}, operations: [QueryTable], table: [crm, ${table}], ${expected} }]\n`
  return runCommand(['policy', 'test', '--policies', await withPolicy(crm(restriction) + test)])
}

it('test accepts the condition that is sent, and counts the restriction as tested', async () => {
  const { status, output } = await runPolicyTest('customers', `expect: allow, sends: "${sent}"`)
  expect(status).toBe(0)
  expect(output).toBe('1 of 1 tests passed (1 decisions)\n')
})

it.for([
  ['another one', 'customers', sent],
  ['one where there is none', 'orders', 'no condition on rows'],
] as const)('test refuses %s', async ([, table, sends]) => {
  const { status, output } = await runPolicyTest(table, 'expect: allow, sends: "(`id` = 1)"')
  expect(status).toBe(1)
  expect(output).toContain(`    expected  allow, sends (\`id\` = 1)
    decided   allow by crm/reads (crm.yaml:6), sends ${sends}\n`)
})

it.for([
  ['accepts the columns that are left, in any order', '[name, id]', 'customers', undefined],
  ['refuses too few columns', '[id]', 'customers', 'id, name'],
  ['refuses a column that is hidden', '[id, ssn]', 'customers', 'id, name'],
  ['refuses columns where all are left', '[id, name]', 'orders', 'all'],
] as const)('test %s', async ([, columns, table, left]) => {
  const { status, output } = await runPolicyTest(table, `expect: allow, columns: ${columns}`)
  expect(status).toBe(left === undefined ? 0 : 1)
  if (left === undefined) expect(output).not.toContain('untested')
  else expect(output).toContain(`    decided   allow by crm/reads (crm.yaml:6), columns ${left}\n`)
})
